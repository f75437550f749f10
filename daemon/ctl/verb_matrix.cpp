// outlierctl matrix: one slice as a heat map in the terminal.

#include <fmt/format.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/heat_map.h"
#include "daemon/ctl/style.h"

namespace outlierd::ctl {
namespace {

class Matrix : public ApiCommand {
 public:
  std::string_view name() const override { return "matrix"; }

  void describe(Arguments& arguments) override {
    arguments.about("One bin of traffic as a heat map",
                    "Rows are origins, columns destinations. In colour on a terminal.");
    arguments.option("NETWORK", "NETWORK", network_, "Which network").required();
    arguments.option("--what", "", what_, "What to draw")
        .one_of({"observed", "expected", "sparse", "score"});
    arguments.time("--time", time_, "Which bin (default: the newest)");
    arguments.option("--metric", "NAME", metric_, "Which metric (default: the network's first)");
    arguments.example("outlierctl matrix abilene", "the newest traffic");
    arguments.example("outlierctl matrix abilene --what score --time 2004-03-01T00:05:00Z",
                      "what was out of the ordinary then");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    Query query;
    query.add("what", what_).add("time", time_text(time_)).add("metric", metric_);
    return client.get("/api/v1/networks/" + percent_encoded(network_) + "/matrix" + query.text());
  }

  int show(const Json& answer, Session& session) override {
    HeatMap map;
    const auto nodes = answer.find("nodes");
    const auto cells = answer.find(what_);
    if (nodes == answer.end() || !nodes->is_array() || cells == answer.end() ||
        !cells->is_array() || cells->size() != nodes->size())
      return session.fail("the daemon's answer is not a matrix");
    for (const Json& node : *nodes)
      map.nodes.push_back(node.is_string() ? node.get<std::string>() : "?");
    for (const Json& row : *cells) {
      auto& values = map.values.emplace_back();
      for (const Json& cell : row)
        values.push_back(cell.is_number() ? cell.get<double>()
                                          : std::numeric_limits<double>::quiet_NaN());
      values.resize(map.nodes.size(), std::numeric_limits<double>::quiet_NaN());
    }
    map.is_signed = what_ == "score" || what_ == "sparse";
    session.out << fmt::format("{} {} at {}\n\n", text_at(answer, "network"), what_,
                               text_at(answer, "time"))
                << render(map, session.terminal.color, session.terminal.width);
    return kOk;
  }

 private:
  std::string network_, what_ = "observed", metric_;
  std::optional<EpochSeconds> time_;
};

}  // namespace

std::unique_ptr<Command> make_matrix() { return std::make_unique<Matrix>(); }

}  // namespace outlierd::ctl
