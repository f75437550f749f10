// outlierctl completion, outlierctl man: what the shell and the manual need to know.

#include "daemon/ctl/command.h"
#include "daemon/ctl/command_line.h"

namespace outlierd::ctl {
namespace {

class Completion : public Command {
 public:
  std::string_view name() const override { return "completion"; }

  void describe(Arguments& arguments) override {
    arguments.about("Print the completion script of a shell");
    arguments.option("SHELL", "", shell_, "Which shell").required().one_of({"bash", "zsh"});
    arguments.example("outlierctl completion bash > /etc/bash_completion.d/outlierctl",
                      "for everybody");
    arguments.example("outlierctl completion zsh > ~/.zfunc/_outlierctl",
                      "with ~/.zfunc in fpath, before compinit");
  }

  int run(Session& session) override {
    const VerbText root = command_line_of(*session.application);
    session.out << (shell_ == "bash" ? bash_completion(root) : zsh_completion(root));
    return kOk;
  }

 private:
  std::string shell_;
};

class Manual : public Command {
 public:
  std::string_view name() const override { return "man"; }

  void describe(Arguments& arguments) override {
    arguments.about("Print the manual page (roff)");
    arguments.example("outlierctl man | man -l -", "read it");
  }

  int run(Session& session) override {
    session.out << manual_page(command_line_of(*session.application), OUTLIERD_VERSION);
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> make_completion() { return std::make_unique<Completion>(); }
std::unique_ptr<Command> make_man() { return std::make_unique<Manual>(); }

}  // namespace outlierd::ctl
