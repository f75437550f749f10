#include "daemon/ctl/incident_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace outlierd::ctl {
namespace {

struct ChosenIncident {
  IncidentKind kind;
  std::size_t bin;
};

// KIND@BIN; a negative BIN counts from the end.
tl::expected<ChosenIncident, std::string> parse_incident(std::string_view text, std::size_t bins) {
  const std::size_t mark = text.find('@');
  const auto kind = incident_named(text.substr(0, mark));
  if (!kind || mark == std::string_view::npos)
    return tl::unexpected(fmt::format(
        "--incident {}: is not KIND@BIN with KIND one of spike, ddos, flash, scan, outage, shift, "
        "ramp, dip, step",
        text));
  const std::string_view number = text.substr(mark + 1);
  std::int64_t bin = 0;
  const auto [end, error] = std::from_chars(number.data(), number.data() + number.size(), bin);
  if (error != std::errc{} || end != number.data() + number.size())
    return tl::unexpected(fmt::format("--incident {}: \"{}\" is not a bin number", text, number));
  if (bin < 0) bin += std::int64_t(bins);
  if (bin < 0 || bin >= std::int64_t(bins))
    return tl::unexpected(
        fmt::format("--incident {}: there are only {} bins (0 to {})", text, bins, bins - 1));
  return ChosenIncident{*kind, std::size_t(bin)};
}

}  // namespace

tl::expected<Incident, std::string> chosen_incident(std::string_view text, std::size_t bins,
                                                    IncidentPlanner& planner, double share) {
  const auto parsed = parse_incident(text, bins);
  if (!parsed) return tl::unexpected(parsed.error());
  std::optional<Incident> incident;  // not every node has the pairs for every kind
  for (int attempt = 0; attempt < 100 && !incident; ++attempt)
    incident = planner.single(parsed->kind, parsed->bin, share);
  if (!incident)
    return tl::unexpected(fmt::format("--incident {}: the network is too small for it", text));
  incident->bins = std::min(incident->bins, bins - incident->first_bin);
  return std::move(*incident);
}

}  // namespace outlierd::ctl
