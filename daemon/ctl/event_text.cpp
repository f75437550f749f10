#include "daemon/ctl/event_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/ctl/api_command.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

bool is_true(const Json& object, const char* key) {
  const auto found = object.find(key);
  return found != object.end() && found->is_boolean() && found->get<bool>();
}

std::string acknowledgement_of(const Json& event) {
  const auto found = event.find("acknowledged");
  if (found == event.end() || !found->is_object()) return "no";
  const std::string comment = text_at(*found, "comment");
  return fmt::format("by {} at {}{}", text_at(*found, "by"), text_at(*found, "time"),
                     comment.empty() || comment == "-" ? "" : ": " + comment);
}

std::string percent(double share) {
  return std::isnan(share) ? "-" : fmt::format("{:.0f}%", 100.0 * share);
}

// Who was behind it: the heaviest of each kind, with their share then and as a rule.
std::string behind_of(const Json& event, bool color) {
  const auto behind = event.find("behind");
  if (behind == event.end() || !behind->is_object()) return {};
  Table table({"BEHIND IT", "", ">SHARE", ">USUAL"});
  for (const char* kind : {"source_prefix", "destination_prefix", "source_port", "destination_port",
                           "protocol", "source_as", "destination_as"}) {
    const auto top = behind->find(kind);
    if (top == behind->end() || !top->is_array()) continue;
    std::string name(kind);
    std::replace(name.begin(), name.end(), '_', ' ');
    for (std::size_t k = 0; k < std::min<std::size_t>(top->size(), 3); ++k) {
      const Json& one = (*top)[k];
      table.add({k == 0 ? name : "", text_at(one, "what"), percent(number_at(one, "share")),
                 percent(number_at(one, "usual"))});
    }
  }
  return table.empty() ? std::string() : "\n" + table.render(color);
}

}  // namespace

Table::Cell state_of(const Json& event) {
  const std::string state = text_at(event, "state");
  if (is_true(event, "silenced")) return {state + ", silenced", Color::kDim};
  const auto acknowledged = event.find("acknowledged");
  if (acknowledged != event.end() && !acknowledged->is_null())
    return {state + ", acked", Color::kDim};
  return {state, state == "open" ? Color::kRed : Color::kNone};
}

std::string duration_of(const Json& event) {
  const auto opened = parse_time(text_at(event, "opened"));
  auto end = parse_time(text_at(event, "closed"));
  if (!end) end = parse_time(text_at(event, "updated"));
  return opened && end && *end >= *opened ? format_duration(double(*end - *opened)) : "-";
}

std::string event_line(const std::string& change, const Json& event, bool color) {
  const Color shade = change == "opened"                           ? Color::kRed
                      : change == "closed"                         ? Color::kGreen
                      : change == "pending" || change == "dropped" ? Color::kDim
                                                                   : Color::kNone;
  return fmt::format("{}  {}  {}  {}: {}  ({})\n", text_at(event, "updated"),
                     paint(pad(change, 7), shade, color), pad(text_at(event, "shape"), 7),
                     text_at(event, "network"), text_at(event, "summary"), text_at(event, "id"));
}

std::string event_page(const Json& event, bool color) {
  const Table::Cell state = state_of(event);
  std::string text = paint(text_at(event, "summary"), Color::kBold, color) + "\n\n";
  const auto line = [&](const char* name, const std::string& value) {
    text += fmt::format("{:<14}{}\n", name, value);
  };
  line("event", text_at(event, "id"));
  line("network", text_at(event, "network"));
  line("state", paint(state.text, state.color, color));
  line("shape", text_at(event, "shape") + ", " + text_at(event, "direction"));
  const std::string since = text_at(event, "since");
  if (since != "-" && (since != text_at(event, "opened") || text_at(event, "state") == "pending"))
    line("since", since);
  line("opened", text_at(event, "state") == "pending" ? "not yet" : text_at(event, "opened"));
  line("updated", text_at(event, "updated"));
  line("closed", text_at(event, "closed"));
  line("peak score", short_number(number_at(event, "peak_score")));
  line("excess", short_number(number_at(event, "excess")));
  line("origins", names_at(event, "origins"));
  line("destinations", names_at(event, "destinations"));
  line("acknowledged", acknowledgement_of(event));
  Table table({"ORIGIN", "DESTINATION", ">OBSERVED", ">EXPECTED", ">SCORE"});
  const auto cells = event.find("cells");
  if (cells != event.end() && cells->is_array())
    for (const Json& cell : *cells)
      table.add({text_at(cell, "origin"), text_at(cell, "destination"),
                 short_number(number_at(cell, "observed")),
                 short_number(number_at(cell, "expected")),
                 short_number(number_at(cell, "score"))});
  if (!table.empty()) text += "\n" + table.render(color);
  text += behind_of(event, color);
  return text;
}

}  // namespace outlierd::ctl
