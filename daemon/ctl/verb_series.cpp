// outlierctl series: one origin and destination over time, with the band of what is usual.

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/chart.h"
#include "daemon/ctl/style.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr int kChartHeight = 12;

class SeriesCommand : public ApiCommand {
 public:
  std::string_view name() const override { return "series"; }

  void describe(Arguments& arguments) override {
    arguments.about("One origin and destination over time, as a small chart");
    arguments.option("NETWORK", "NETWORK", network_, "Which network").required();
    arguments.option("ORIGIN", "ORIGIN", origin_, "Where traffic enters").required();
    arguments.option("DESTINATION", "DESTINATION", destination_, "Where it leaves").required();
    arguments.time("--from", from_, "Begin (default: a day before the end)");
    arguments.time("--to", to_, "End (default: now)");
    arguments.option("--metric", "NAME", metric_, "Which metric (default: the network's first)");
    arguments.flag("--sparkline", sparkline_, "One line only");
    arguments.example("outlierctl series abilene ATLA CHIN", "the last day");
    arguments.example(
        "outlierctl series abilene ATLA CHIN --from 2004-03-01 --to 2004-03-02 --sparkline",
        "one line");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    Query query;
    query.add("origin", origin_).add("destination", destination_).add("metric", metric_);
    query.add("from", time_text(from_)).add("to", time_text(to_));
    return client.get("/api/v1/networks/" + percent_encoded(network_) + "/series" + query.text());
  }

  int show(const Json& answer, Session& session) override {
    std::vector<ChartPoint> points;
    std::vector<double> observed;
    const auto found = answer.find("points");
    if (found == answer.end() || !found->is_array())
      return session.fail("the daemon's answer is not a series");
    std::size_t flagged = 0;
    for (const Json& each : *found) {
      ChartPoint point{parse_time(text_at(each, "time")).value_or(0),
                       number_at(each, "observed"),
                       number_at(each, "expected"),
                       number_at(each, "low"),
                       number_at(each, "high"),
                       number_at(each, "score")};
      flagged += point.observed > point.high || point.observed < point.low;
      observed.push_back(point.observed);
      points.push_back(point);
    }
    if (sparkline_) {
      session.out << sparkline(observed, std::size_t(std::max(10, session.terminal.width - 1)))
                  << '\n';
      return kOk;
    }
    session.out << fmt::format("{} {}>{} {}: {} bins, {} outside the band\n\n",
                               text_at(answer, "network"), origin_, destination_,
                               text_at(answer, "metric"), points.size(), flagged)
                << render_chart(points, session.terminal.width, kChartHeight,
                                session.terminal.color)
                << "● observed  ! outside the band  ─ expected  ░ band\n";
    return kOk;
  }

 private:
  std::string network_, origin_, destination_, metric_;
  std::optional<EpochSeconds> from_, to_;
  bool sparkline_ = false;
};

}  // namespace

std::unique_ptr<Command> make_series() { return std::make_unique<SeriesCommand>(); }

}  // namespace outlierd::ctl
