#include "daemon/ctl/api_command.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

std::string scalar_text(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_null()) return "-";
  return value.dump(-1, ' ', false, Json::error_handler_t::replace);
}

std::string joined(const Json& values) {
  std::string text;
  for (const Json& value : values) text += (text.empty() ? "" : ", ") + scalar_text(value);
  return text.empty() ? "-" : text;
}

bool holds_objects(const Json& values) { return !values.empty() && values.front().is_structured(); }

}  // namespace

int ApiCommand::run(Session& session) {
  auto client = ApiClient::of(session);
  if (!client) return session.fail(client.error().reason, client.error().code);
  const auto body = ask(*client, session);
  if (!body) return session.fail(body.error().reason, body.error().code);
  const Json answer = body->empty() ? Json::object() : Json::parse(*body, nullptr, false);
  if (answer.is_discarded()) return session.fail("the daemon's answer is not JSON");
  if (session.json) {
    session.out << *body << (body->ends_with('\n') ? "" : "\n");
    return session.out.good() ? kOk : kFailed;
  }
  const int code = show(answer, session);
  session.out.flush();
  return session.out.good() ? code : kFailed;
}

std::string text_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found == object.end() ? "-" : scalar_text(*found);
}

double number_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_number() ? found->get<double>()
                                                     : std::numeric_limits<double>::quiet_NaN();
}

std::string names_at(const Json& object, const char* key) {
  const auto found = object.is_object() ? object.find(key) : object.end();
  return found != object.end() && found->is_array() ? joined(*found) : "-";
}

const Json& items_of(const Json& answer) {
  static const Json kNone = Json::array();
  const auto found = answer.is_object() ? answer.find("items") : answer.end();
  return found != answer.end() && found->is_array() ? *found : kNone;
}

std::string describe_json(const Json& value, int indent) {
  const std::string blanks(std::size_t(indent), ' ');
  std::string text;
  if (value.is_array()) {
    for (const Json& each : value) text += blanks + "-\n" + describe_json(each, indent + 2);
    return text;
  }
  if (!value.is_object()) return blanks + scalar_text(value) + "\n";
  for (const auto& [key, member] : value.items()) {
    const bool nested = member.is_object() || (member.is_array() && holds_objects(member));
    if (nested)
      text += fmt::format("{}{}:\n{}", blanks, key, describe_json(member, indent + 2));
    else
      text += fmt::format("{}{}: {}\n", blanks, key,
                          member.is_array() ? joined(member) : scalar_text(member));
  }
  return text;
}

std::string time_text(const std::optional<EpochSeconds>& time) {
  return time ? format_time(*time) : std::string();
}

}  // namespace outlierd::ctl
