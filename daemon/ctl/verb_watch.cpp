// outlierctl watch: the live stream, a line an event.

#include <fmt/format.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/event_text.h"
#include "daemon/ctl/sse.h"

namespace outlierd::ctl {
namespace {

constexpr double kLongestSilence = 90.0;  // the daemon's heartbeat is more frequent
constexpr double kFirstDelay = 0.5, kLongestDelay = 15.0;

class Watch : public Command {
 public:
  std::string_view name() const override { return "watch"; }

  void describe(Arguments& arguments) override {
    arguments.about(
        "Follow what the daemon finds, as it finds it",
        "Reconnects by itself and goes on where it was. With -o json one object a line.");
    arguments.option("--network", "NAME", network_, "Of this network only");
    arguments.flag("--slices", slices_, "Also say each slice that was scored");
    arguments.option("--count", "N", count_, "Stop after so many lines (0: never)").between(0, 1e9);
    arguments.example("outlierctl watch", "until Ctrl-C");
    arguments.example("outlierctl watch --count 1", "wait for the next thing that happens");
  }

  int run(Session& session) override {
    auto client = ApiClient::of(session);
    if (!client) return session.fail(client.error().reason, client.error().code);
    Query query;
    query.add("network", network_);
    bool was_connected = false, finished = false;
    double delay = kFirstDelay;
    while (true) {
      reader_.reconnected();
      const auto followed = client->follow("/api/v1/stream" + query.text(), reader_.last_id(),
                                           kLongestSilence, [&](std::string_view text) {
                                             was_connected = true;
                                             delay = kFirstDelay;
                                             finished = !take(text, session);
                                             return !finished;
                                           });
      if (finished) return session.out.good() ? kOk : kFailed;
      const bool refused = !followed && followed.error().code != kUnreachable;
      if (refused || (!followed && !was_connected))
        return session.fail(followed.error().reason, followed.error().code);
      session.error << fmt::format("outlierctl: the stream broke; trying again in {:g} s\n", delay);
      std::this_thread::sleep_for(std::chrono::duration<double>(delay));
      delay = std::min(2 * delay, kLongestDelay);
    }
  }

 private:
  // False when enough has been seen, or nobody reads it any more.
  bool take(std::string_view text, Session& session) {
    for (const ServerEvent& event : reader_.take(text)) {
      const std::string line = line_of(event, session);
      if (line.empty()) continue;
      session.out << line << std::flush;
      if (!session.out.good() || (count_ > 0 && ++seen_ >= count_)) return false;
    }
    return true;
  }

  std::string line_of(const ServerEvent& event, const Session& session) const {
    constexpr std::string_view kPrefix = "event-";
    if (event.name == "slice" && !slices_) return {};
    const Json data = Json::parse(event.data, nullptr, false);
    if (!data.is_object()) return {};
    if (session.json) return Json{{"event", event.name}, {"data", data}}.dump() + "\n";
    if (event.name.starts_with(kPrefix))
      return event_line(event.name.substr(kPrefix.size()), data, session.terminal.color);
    if (event.name == "slice")
      return fmt::format("{}  slice    {}\n", text_at(data, "time"), text_at(data, "network"));
    return fmt::format("{}  {}\n", event.name, event.data);
  }

  std::string network_;
  bool slices_ = false;
  int count_ = 0, seen_ = 0;
  ServerEventReader reader_;
};

}  // namespace

std::unique_ptr<Command> make_watch() { return std::make_unique<Watch>(); }

}  // namespace outlierd::ctl
