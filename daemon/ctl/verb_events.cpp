// outlierctl events: what was found, newest first.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/event_text.h"
#include "daemon/ctl/style.h"

namespace outlierd::ctl {
namespace {

class Events : public ApiCommand {
 public:
  std::string_view name() const override { return "events"; }

  void describe(Arguments& arguments) override {
    arguments.about("What was found, newest first");
    arguments.option("--network", "NAME", network_, "Of this network only");
    arguments
        .option("--state", "", state_,
                "In this state only; pending: suspicious, nobody was told (open and closed unless "
                "said)")
        .one_of({"pending", "open", "closed"});
    arguments.option("--shape", "", shape_, "Of this shape only")
        .one_of({"spike", "drop", "ddos", "scan", "outage", "shift", "level", "network"});
    arguments.time("--from", from_, "Opened at or after");
    arguments.time("--to", to_, "Opened before");
    arguments.option("--limit", "N", limit_, "Events at most").between(1, 1e6);
    arguments.example("outlierctl events --state open", "what is going on now");
    arguments.example("outlierctl events --state pending", "what may become an event");
    arguments.example("outlierctl events --shape ddos --from 2004-03-01 -o json", "for scripts");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    Query query;
    query.add("network", network_).add("state", state_).add("shape", shape_);
    query.add("from", time_text(from_)).add("to", time_text(to_));
    return client.list("/api/v1/events" + query.text(), limit_);
  }

  int show(const Json& answer, Session& session) override {
    Table table({"EVENT", "NETWORK", "STATE", "SHAPE", "OPENED", "LASTS", ">SCORE", "SUMMARY"});
    for (const Json& event : items_of(answer))
      table.add({text_at(event, "id"), text_at(event, "network"), state_of(event),
                 text_at(event, "shape"), text_at(event, "opened"), duration_of(event),
                 short_number(number_at(event, "peak_score")), text_at(event, "summary")});
    const auto width = session.terminal.out ? std::size_t(session.terminal.width) : 0;
    session.out << (table.empty() ? "no events\n" : table.render(session.terminal.color, width));
    return kOk;
  }

 private:
  std::string network_, state_, shape_;
  std::optional<EpochSeconds> from_, to_;
  int limit_ = 20;
};

}  // namespace

std::unique_ptr<Command> make_events() { return std::make_unique<Events>(); }

}  // namespace outlierd::ctl
