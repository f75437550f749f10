// outlierctl backup: a copy of the daemon's store while it runs.

#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"

namespace outlierd::ctl {
namespace {

constexpr double kLongestBackup = 3600.0;  // a store of 10 GiB on a slow disk

class Backup : public ApiCommand {
 public:
  std::string_view name() const override { return "backup"; }

  void describe(Arguments& arguments) override {
    arguments.about("Copy the daemon's store to a file, while it runs",
                    "The daemon writes it: the path is one of its machine, and it must be able to "
                    "write there.");
    arguments.option("PATH", "PATH", path_, "Where the copy goes").required();
    arguments.example("outlierctl backup /var/backups/outlierd.db",
                      "restore: see docs/operating.md");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    std::error_code error;
    const auto whole = std::filesystem::absolute(path_, error);
    return client.send("POST", "/api/v1/backup",
                       Json{{"path", error ? path_ : whole.lexically_normal().string()}}.dump(
                           -1, ' ', false, Json::error_handler_t::replace),
                       kLongestBackup);
  }
  int show(const Json& answer, Session& session) override {
    session.out << "backed up\n" << (answer.empty() ? "" : describe_json(answer));
    return kOk;
  }

 private:
  std::string path_;
};

}  // namespace

std::unique_ptr<Command> make_backup() { return std::make_unique<Backup>(); }

}  // namespace outlierd::ctl
