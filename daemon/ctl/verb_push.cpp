// outlierctl push: a traffic CSV into a running daemon.

#include <fmt/format.h>

#include <charconv>
#include <nlohmann/json.hpp>

#include "daemon/ctl/api_client.h"
#include "daemon/ctl/command.h"
#include "daemon/ctl/progress.h"
#include "daemon/ctl/pusher.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

using SortedJson = nlohmann::json;

// Where the daemon stands, as far as it can be asked.
struct Standing {
  std::string network;
  std::optional<EpochSeconds> last_slice;
};

std::optional<EpochSeconds> last_slice_of(const SortedJson& network) {
  const auto found = network.find("last_slice");
  if (found == network.end() || !found->is_string()) return std::nullopt;
  return parse_time(found->get<std::string>());
}

class Push : public Command {
 public:
  std::string_view name() const override { return "push"; }

  void describe(Arguments& arguments) override {
    arguments.about("Send a traffic CSV to a running daemon",
                    "Bin by bin, each answered once it is durable. Goes on where the daemon "
                    "stands; safe to repeat.");
    arguments.option("FILE", "FILE", file_, "Traffic CSV, also .gz; - is stdin").required();
    arguments.option("--to", "ADDRESS", to_,
                     "tcp://host:port, tls://host:port, unix:PATH, http://host:port, https://...; "
                     "default: the API at --url");
    arguments.option("--network", "NAME", network_,
                     "Which network this is (default: the daemon's only one)");
    arguments.option("--speed", "BINS", speed_, "Bins a second, or max");
    arguments.option("--source", "NAME", source_,
                     "Who we are: parts of a bin from different sources add up");
    arguments.flag("--backfill", backfill_,
                   "Import history so that a network starts warm: at full speed; bins older than "
                   "what the daemon has are skipped");
    arguments.flag("--cbor", cbor_, "Over HTTP: CBOR with packed float32 instead of JSON");
    arguments.duration("--give-up-after", give_up_seconds_,
                       "How long to try again when nothing goes through");
    arguments.example("outlierctl push traffic.csv.gz --to tcp://127.0.0.1:9470 --network abilene",
                      "as fast as the daemon takes it");
    arguments.example("outlierctl push traffic.csv.gz --speed 2",
                      "slowly, to watch it on the dashboard");
    arguments.example("outlierctl push history.csv.gz --backfill --network abilene",
                      "a new network starts warm");
  }

  int run(Session& session) override {
    const auto to = parse_address(to_.empty() ? session.url : to_);
    if (!to) return session.fail("--to " + to.error(), kBadUsage);
    double bins_a_second = 0.0;
    const auto [end, error] =
        std::from_chars(speed_.data(), speed_.data() + speed_.size(), bins_a_second);
    const bool is_number = error == std::errc{} && end == speed_.data() + speed_.size();
    if (speed_ != "max" && !(is_number && bins_a_second > 0 && bins_a_second < 1e9))
      return session.fail("--speed is a number of bins a second, or max", kBadUsage);
    if (cbor_ && !to->is_http())
      return session.fail("--cbor is for http:// and https://", kBadUsage);
    if (backfill_) bins_a_second = 0.0;
    auto reader = TrafficReader::open(file_);
    if (!reader) return session.fail(reader.error());
    const auto standing = ask(session, *to);
    if (!standing) return session.fail(standing.error().reason, standing.error().code);
    const auto token = read_token(session.token_file);
    if (!token) return session.fail(token.error());
    return push(session, *to, *reader, *standing, *token, bins_a_second);
  }

 private:
  // The API is asked where the daemon stands if it is where the bins go, was named, or is on this
  // machine as the socket is. Where it cannot be asked, everything is sent, and what the daemon has
  // already it answers late.
  tl::expected<Standing, Failure> ask(const Session& session, const Address& to) const {
    Standing standing{network_, std::nullopt};
    Session asked = session;
    if (to.is_http()) asked.url = to.text;
    const bool may_ask = to.is_http() || session.url_was_given || to.on_this_machine();
    auto client = ApiClient::of(asked);
    if (!client) return tl::unexpected(client.error());
    auto body = may_ask ? client->get("/api/v1/status")
                        : tl::expected<std::string, Failure>(tl::unexpect, Failure{});
    const SortedJson status = body ? SortedJson::parse(*body, nullptr, false) : SortedJson();
    // A token that may only send cannot ask: that is no reason not to send.
    const bool unreachable = !body && body.error().code == kUnreachable;
    if (unreachable && (to.is_http() || session.url_was_given)) return tl::unexpected(body.error());
    std::vector<std::string> names;
    if (status.is_object() && status.contains("networks"))
      for (const SortedJson& network : status["networks"]) {
        names.push_back(network.value("name", std::string()));
        if (network_.empty() || names.back() == network_)
          standing.last_slice = last_slice_of(network);
      }
    if (!network_.empty()) return standing;
    if (names.size() != 1)
      return tl::unexpected(Failure{names.empty()
                                        ? "--network is needed: the daemon cannot be asked"
                                        : "--network is needed: the daemon has several",
                                    kBadUsage});
    standing.network = names.front();
    return standing;
  }

  int push(Session& session, const Address& to, TrafficReader& reader, const Standing& standing,
           const std::string& token, double bins_a_second) const {
    PushOptions options;
    options.to = to;
    options.connection.ca_file = session.ca_file;
    options.bins_a_second = bins_a_second;
    options.after = standing.last_slice;
    options.give_up_seconds = give_up_seconds_;
    if (to.is_http()) options.window = 32;
    SliceMessage message(reader.columns(), standing.network, source_,
                         reader.bin_seconds().value_or(300));
    auto protocol = to.is_http()
                        ? http_protocol(std::move(message), to, standing.network, token, cbor_)
                        : line_protocol(std::move(message), token);
    Progress progress(session.error, session.terminal, "bins");
    const auto notice = [&](const std::string& text) {
      progress.clear();
      session.error << "outlierctl: " << text << '\n';
    };
    const auto on_progress = [&](double fraction, std::size_t bins) {
      progress.update(fraction, double(bins));
    };
    const PushSummary summary =
        Pusher(std::move(options), std::move(protocol), reader, notice, on_progress).run();
    progress.clear();
    return report(session, to, standing, summary);
  }

  static int report(Session& session, const Address& to, const Standing& standing,
                    const PushSummary& summary) {
    const double rate = summary.seconds > 0 ? double(summary.sent) / summary.seconds : 0.0;
    if (session.json) {
      session.out << SortedJson{{"network", standing.network},
                                {"skipped", summary.skipped},
                                {"sent", summary.sent},
                                {"accepted", summary.accepted},
                                {"already_there", summary.already_there},
                                {"late", summary.late},
                                {"refused", summary.refused},
                                {"resent", summary.resent},
                                {"connections", summary.connections},
                                {"seconds", summary.seconds},
                                {"bins_per_second", rate}}
                         .dump()
                  << '\n';
    } else {
      if (summary.skipped > 0)
        session.out << fmt::format("{} bins skipped: the daemon has everything up to {}\n",
                                   with_thousands(double(summary.skipped)),
                                   format_time(standing.last_slice.value_or(0)));
      if (summary.already_there > 0)
        session.out << fmt::format("{} bins were already there\n",
                                   with_thousands(double(summary.already_there)));
      session.out << fmt::format(
          "{} bins sent: {} accepted, {} late, {} refused; {:.1f} s, {} bins/s\n",
          with_thousands(double(summary.sent)), with_thousands(double(summary.accepted)),
          with_thousands(double(summary.late + summary.already_there)),
          with_thousands(double(summary.refused)), summary.seconds, with_thousands(rate));
    }
    if (summary.unreachable)
      return session.fail(
          fmt::format(
              "cannot reach outlierd at {}: {}\nCheck that it is running and that a listener "
              "under matrices (or http) in its configuration has this address.",
              to.text, summary.stopped),
          kUnreachable);
    if (!summary.stopped.empty()) return session.fail(summary.stopped);
    return summary.refused + summary.late > 0 ? kFailed : kOk;
  }

  std::string file_, to_, network_, speed_ = "max", source_ = "csv";
  bool backfill_ = false, cbor_ = false;
  int give_up_seconds_ = 60;
};

}  // namespace

std::unique_ptr<Command> make_push() { return std::make_unique<Push>(); }

}  // namespace outlierd::ctl
