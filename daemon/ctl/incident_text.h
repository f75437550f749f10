#pragma once
// Incidents as the command line writes them: KIND@BIN, a negative BIN counting from the end.

#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "daemon/ctl/incidents.h"

namespace outlierd::ctl {

inline constexpr double kChosenShare =
    0.10;  // of the network's traffic: an incident one has asked for

// Of that share of the network's traffic; or what is wrong.
tl::expected<Incident, std::string> chosen_incident(std::string_view text, std::size_t bins,
                                                    IncidentPlanner& planner, double share);

}  // namespace outlierd::ctl
