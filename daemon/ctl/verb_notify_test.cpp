// outlierctl notify test: a test alert through every notifier.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/style.h"

namespace outlierd::ctl {
namespace {

class NotifyTest : public ApiCommand {
 public:
  std::string_view name() const override { return "notify test"; }

  void describe(Arguments& arguments) override {
    arguments.about("Send a test alert through every notifier and say what came back");
    arguments.example("outlierctl notify test", "before the first night on call");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    return client.send("POST", "/api/v1/notify/test", "{}", 120.0);
  }

  int show(const Json& answer, Session& session) override {
    bool all_fine = true;
    for (const Json& item : items_of(answer)) {
      const bool fine = item.value("ok", false);
      all_fine &= fine;
      session.out << paint(fine ? "ok    " : "FAILED", fine ? Color::kGreen : Color::kRed,
                           session.terminal.color)
                  << fmt::format(" {}: {} ({:.0f} ms)\n", item.value("notifier", "?"),
                                 item.value("detail", ""), item.value("seconds", 0.0) * 1000.0);
    }
    if (items_of(answer).empty()) session.out << "no notifiers are configured\n";
    return all_fine ? kOk : kFailed;
  }
};

}  // namespace

std::unique_ptr<Command> make_notify_test() { return std::make_unique<NotifyTest>(); }

}  // namespace outlierd::ctl
