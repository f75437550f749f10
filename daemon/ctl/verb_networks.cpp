// outlierctl networks, outlierctl network NAME: what is watched, and with which settings.

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/style.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

class Networks : public ApiCommand {
 public:
  std::string_view name() const override { return "networks"; }

  void describe(Arguments& arguments) override {
    arguments.about("The networks the daemon watches");
    arguments.option("--limit", "N", limit_, "Networks at most").between(1, 1e6);
    arguments.example("outlierctl networks", "one line a network");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    return client.list("/api/v1/networks", limit_);
  }

  int show(const Json& answer, Session& session) override {
    Table table({"NETWORK", ">NODES", "BIN", "METRICS", ">THRESHOLD"});
    for (const Json& network : items_of(answer)) {
      const auto nodes = network.find("nodes");
      const bool listed = nodes != network.end() && nodes->is_array();
      table.add({text_at(network, "name"), listed ? std::to_string(nodes->size()) : "-",
                 format_duration(number_at(network, "bin_seconds")), names_at(network, "metrics"),
                 short_number(number_at(network, "threshold"))});
    }
    session.out << (table.empty() ? "no networks\n" : table.render(session.terminal.color));
    return kOk;
  }

 private:
  int limit_ = 1000;
};

class OneNetwork : public ApiCommand {
 public:
  std::string_view name() const override { return "network"; }

  void describe(Arguments& arguments) override {
    arguments.about("One network: nodes, bin, settings in force");
    arguments.option("NETWORK", "NETWORK", network_, "Its name").required();
    arguments.example("outlierctl network abilene", "everything about it");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    return client.get("/api/v1/networks/" + percent_encoded(network_));
  }

  int show(const Json& answer, Session& session) override {
    session.out << describe_json(answer);
    return kOk;
  }

 private:
  std::string network_;
};

}  // namespace

std::unique_ptr<Command> make_networks() { return std::make_unique<Networks>(); }
std::unique_ptr<Command> make_network() { return std::make_unique<OneNetwork>(); }

}  // namespace outlierd::ctl
