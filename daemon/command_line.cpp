#include "daemon/command_line.h"

#include <string_view>
#include <vector>

namespace outlierd {

std::string usage() {
  return "usage: outlierd [--config FILE] [--check | --dump-config]\n"
         "       outlierd --demo [--store DIR] [--dump-config]\n"
         "       outlierd --version | --help\n"
         "\n"
         "Watches traffic matrices and reports what does not belong.\n"
         "\n"
         "  --config FILE   the configuration (default /etc/outlierd/outlierd.yaml)\n"
         "  --check         read it, name every problem, and exit\n"
         "  --dump-config   print the values in force, secrets hidden, and exit\n"
         "  --demo          use the embedded configuration: one network \"demo\", loopback only\n"
         "  --store DIR     with --demo: where to keep models and history\n"
         "  --version       print the version and exit\n"
         "\n"
         "Signals: SIGTERM and SIGINT stop after what was accepted is done, a second one at once;\n"
         "SIGHUP reads tokens, certificates and the configuration again.\n"
         "Exit codes: 0 fine, 1 failed, 2 bad usage, 3 bad configuration.\n";
}

tl::expected<CommandLine, std::string> parse_command_line(int argc, const char* const* argv) {
  using Action = CommandLine::Action;
  CommandLine command;
  bool has_config = false;
  const std::vector<std::string_view> words(argv + std::min(argc, 1), argv + argc);
  for (std::size_t k = 0; k < words.size(); ++k) {
    std::string_view word = words[k];
    std::string_view value;
    const bool takes_value = word.starts_with("--config") || word.starts_with("--store");
    if (const std::size_t equals = word.find('='); takes_value && equals != word.npos) {
      value = word.substr(equals + 1);
      word = word.substr(0, equals);
    } else if (word == "--config" || word == "--store") {
      if (++k == words.size()) return tl::unexpected(std::string(word) + " needs a value");
      value = words[k];
    }
    const auto act = [&](Action action) {
      if (command.action != Action::kRun && command.action != action) return false;
      command.action = action;
      return true;
    };
    bool good = true;
    if (word == "--config") {
      has_config = true;
      command.config_file = value;
    } else if (word == "--store") {
      command.store_path = value;
    } else if (word == "--demo") {
      command.demo = true;
    } else if (word == "--check") {
      good = act(Action::kCheck);
    } else if (word == "--dump-config") {
      good = act(Action::kDumpConfig);
    } else if (word == "--version") {
      good = act(Action::kVersion);
    } else if (word == "--help" || word == "-h") {
      good = act(Action::kHelp);
    } else {
      return tl::unexpected("unknown argument " + std::string(word));
    }
    if (!good) return tl::unexpected(std::string(word) + " cannot go with what stands before it");
  }
  if (command.demo && has_config)
    return tl::unexpected(std::string("--demo and --config exclude each other"));
  if (!command.demo && !command.store_path.empty())
    return tl::unexpected(std::string("--store goes with --demo; a configuration has store.path"));
  return command;
}

}  // namespace outlierd
