// outlierctl event, outlierctl ack: one event, and that somebody looks after it.

#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/event_text.h"

namespace outlierd::ctl {
namespace {

class OneEvent : public ApiCommand {
 public:
  std::string_view name() const override { return "event"; }

  void describe(Arguments& arguments) override {
    arguments.about("One event: what, when, and which cells");
    arguments.option("ID", "ID", id_, "The event's id, from outlierctl events").required();
    arguments.example("outlierctl event 1f2e3d4c5b6a7988", "everything about it");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    return client.get("/api/v1/events/" + percent_encoded(id_));
  }
  int show(const Json& answer, Session& session) override {
    session.out << event_page(answer, session.terminal.color);
    return kOk;
  }

 private:
  std::string id_;
};

class Acknowledge : public ApiCommand {
 public:
  std::string_view name() const override { return "ack"; }

  void describe(Arguments& arguments) override {
    arguments.about("Acknowledge an event: somebody looks after it");
    arguments.option("ID", "ID", id_, "The event's id, from outlierctl events").required();
    arguments.option("--by", "NAME", by_, "Who (default: as the token or the daemon knows you)");
    arguments.option("--note", "TEXT", note_, "What is known or done");
    arguments.example("outlierctl ack 1f2e3d4c5b6a7988 --by ana --note 'customer moved, expected'",
                      "leaves a line in the audit trail");
  }

 protected:
  tl::expected<std::string, Failure> ask(ApiClient& client, Session&) override {
    Json body = Json::object();
    if (!by_.empty()) body["by"] = by_;
    if (!note_.empty()) body["comment"] = note_;
    return client.send("POST", "/api/v1/events/" + percent_encoded(id_) + "/ack",
                       body.dump(-1, ' ', false, Json::error_handler_t::replace));
  }
  int show(const Json&, Session& session) override {
    session.out << "acknowledged " << id_ << '\n';
    return kOk;
  }

 private:
  std::string id_, by_, note_;
};

}  // namespace

std::unique_ptr<Command> make_event() { return std::make_unique<OneEvent>(); }
std::unique_ptr<Command> make_ack() { return std::make_unique<Acknowledge>(); }

}  // namespace outlierd::ctl
