#pragma once
// How an event of the API is written for people.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "daemon/ctl/style.h"

namespace outlierd::ctl {

Table::Cell state_of(const nlohmann::ordered_json& event);  // open, closed; acknowledged, silenced
std::string duration_of(const nlohmann::ordered_json& event);
// One line of the live stream: what happened to it, and its summary.
std::string event_line(const std::string& change, const nlohmann::ordered_json& event, bool color);
std::string event_page(const nlohmann::ordered_json& event, bool color);

}  // namespace outlierd::ctl
