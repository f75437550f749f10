// outlierctl silence add, list, expire: events that are still found but told to nobody.

#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/style.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

class AddSilence : public ApiCommand {
 public:
  std::string_view name() const override { return "silence add"; }

  void describe(Arguments& arguments) override {
    arguments.about("Do not notify of events that match, for a while",
                    "What is not named matches everything; at least one must be named.");
    arguments.option("--network", "NAME", network_, "Of this network");
    arguments.option("--origin", "NODE", origin_, "With this origin");
    arguments.option("--destination", "NODE", destination_, "With this destination");
    arguments.option("--node", "NODE", node_, "With this node at either end");
    arguments.option("--shape", "", shape_, "Of this shape")
        .one_of({"spike", "drop", "ddos", "scan", "outage", "shift", "level", "network"});
    arguments.duration("--for", seconds_, "How long");
    arguments.time("--until", until_, "Or until when");
    arguments.time("--from", from_, "From when (default: now)");
    arguments.option("--by", "NAME", by_, "Who");
    arguments.option("--note", "TEXT", note_, "Why");
    arguments.example(
        "outlierctl silence add --network abilene --node CHIN --for 2h --note maintenance",
        "two hours of quiet about one node");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    Json body = Json::object();
    const auto put = [&](const char* key, const std::string& value) {
      if (!value.empty()) body[key] = value;
    };
    put("network", network_);
    put("origin", origin_);
    put("destination", destination_);
    put("node", node_);
    put("shape", shape_);
    put("by", by_);
    put("comment", note_);
    put("starts", time_text(from_));
    if (body.empty() || (network_ + origin_ + destination_ + node_ + shape_).empty())
      return tl::unexpected(
          Failure{"silence add: name at least one of --network, --origin, --destination, --node, "
                  "--shape",
                  kBadUsage});
    if (until_)
      body["ends"] = format_time(*until_);
    else
      body["duration_seconds"] = seconds_;
    return client.send("POST", "/api/v1/silences",
                       body.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  int show(const Json& answer, Session& session) override {
    session.out << "silence " << text_at(answer, "id") << " until " << text_at(answer, "ends")
                << '\n';
    return kOk;
  }

 private:
  std::string network_, origin_, destination_, node_, shape_, by_, note_;
  int seconds_ = 3600;
  std::optional<EpochSeconds> from_, until_;
};

class ListSilences : public ApiCommand {
 public:
  std::string_view name() const override { return "silence list"; }

  void describe(Arguments& arguments) override {
    arguments.about("The silences there are");
    arguments.option("--limit", "N", limit_, "Silences at most").between(1, 1e6);
    arguments.example("outlierctl silence list", "who silenced what, until when");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    return client.list("/api/v1/silences", limit_);
  }
  int show(const Json& answer, Session& session) override {
    Table table({"SILENCE", "STATE", "MATCHES", "STARTS", "ENDS", "BY", "NOTE"});
    for (const Json& silence : items_of(answer)) {
      std::string matches;
      for (const char* key : {"network", "origin", "destination", "node", "shape"})
        if (const std::string value = text_at(silence, key); value != "-")
          matches += (matches.empty() ? "" : " ") + std::string(key) + "=" + value;
      table.add({text_at(silence, "id"), text_at(silence, "state"), matches,
                 text_at(silence, "starts"), text_at(silence, "ends"),
                 text_at(silence, "created_by"), text_at(silence, "comment")});
    }
    session.out << (table.empty() ? "no silences\n" : table.render(session.terminal.color));
    return kOk;
  }

 private:
  int limit_ = 100;
};

class ExpireSilence : public ApiCommand {
 public:
  std::string_view name() const override { return "silence expire"; }

  void describe(Arguments& arguments) override {
    arguments.about("End a silence now");
    arguments.option("ID", "ID", id_, "Its id, from outlierctl silence list").required();
    arguments.example("outlierctl silence expire 9a8b7c6d5e4f3021", "notifications again");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    return client.send("DELETE", "/api/v1/silences/" + percent_encoded(id_));
  }
  int show(const Json&, Session& session) override {
    session.out << "expired " << id_ << '\n';
    return kOk;
  }

 private:
  std::string id_;
};

}  // namespace

std::unique_ptr<Command> make_silence_add() { return std::make_unique<AddSilence>(); }
std::unique_ptr<Command> make_silence_list() { return std::make_unique<ListSilences>(); }
std::unique_ptr<Command> make_silence_expire() { return std::make_unique<ExpireSilence>(); }

}  // namespace outlierd::ctl
