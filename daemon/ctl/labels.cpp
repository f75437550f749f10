#include "daemon/ctl/labels.h"

#include <cmath>
#include <nlohmann/json.hpp>

#include "daemon/ctl/times.h"

namespace outlierd::ctl {

std::string labels_json(const LabelledSet& set, const std::vector<Incident>& incidents,
                        const std::vector<std::string>& columns) {
  nlohmann::ordered_json labels = nlohmann::ordered_json::array();
  for (const Incident& incident : incidents) {
    nlohmann::ordered_json pairs = nlohmann::ordered_json::array();
    for (std::size_t column : incident.columns) pairs.push_back(columns[column]);
    const std::size_t last = incident.first_bin + incident.bins - 1;
    labels.push_back({{"kind", name_of(incident.kind)},
                      {"start", format_time(set.times[incident.first_bin])},
                      {"end", format_time(set.times[last] + set.bin_seconds)},
                      {"first_bin", incident.first_bin},
                      {"bins", incident.bins},
                      {"size", std::round(incident.size * 1000.0) / 1000.0},
                      {"pairs", std::move(pairs)}});
  }
  std::string start = format_time(set.start);
  start.pop_back();  // without the Z, as datetime.fromisoformat of an older Python wants it
  const nlohmann::ordered_json document = {
      {"source", set.source},
      {"start", start},
      {"days", set.days},
      {"seed", set.seed},
      {"profile", name_of(set.profile)},
      {"step_s", double(set.bin_seconds)},
      {"clean_until_bin", set.clean_until_row},
      {"note",
       "only injected events are labelled; natural anomalies of the source are NOT labelled"},
      {"labels", std::move(labels)}};
  return document.dump(1) + "\n";
}

}  // namespace outlierd::ctl
