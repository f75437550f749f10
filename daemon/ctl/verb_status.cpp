// outlierctl status: how the daemon and its networks are.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/style.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

class Status : public ApiCommand {
 public:
  std::string_view name() const override { return "status"; }

  void describe(Arguments& arguments) override {
    arguments.about("How the daemon and its networks are");
    arguments.example("outlierctl status", "one line a network");
    arguments.example("outlierctl status -o json | jq '.networks[].open_events'", "for scripts");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    return client.get("/api/v1/status");
  }

  int show(const Json& answer, Session& session) override {
    session.out << fmt::format("outlierd {}, up {}\n\n", text_at(answer, "version"),
                               format_duration(number_at(answer, "uptime_seconds")));
    Table table({"NETWORK", "LAST SLICE", ">BEHIND", ">WARM-UP", ">RANK", ">OPEN EVENTS"});
    const auto networks = answer.find("networks");
    if (networks != answer.end())
      for (const Json& network : *networks) {
        const double behind = number_at(network, "bins_behind");
        const double warmup = number_at(network, "warmup");
        const double open = number_at(network, "open_events");
        table.add({text_at(network, "name"),
                   text_at(network, "last_slice"),
                   {text_at(network, "bins_behind"), behind > 2 ? Color::kYellow : Color::kNone},
                   std::isnan(warmup) ? "-" : fmt::format("{:.0f}%", 100.0 * warmup),
                   text_at(network, "rank"),
                   {text_at(network, "open_events"), open > 0 ? Color::kRed : Color::kGreen}});
      }
    if (table.empty())
      session.out << "no networks\n";
    else
      session.out << table.render(session.terminal.color);
    return kOk;
  }
};

}  // namespace

std::unique_ptr<Command> make_status() { return std::make_unique<Status>(); }

}  // namespace outlierd::ctl
