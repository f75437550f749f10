#pragma once
// The labels of a set with anomalies, as eval/score.py and `outlierctl evaluate` read them.

#include <cstdint>
#include <string>
#include <vector>

#include "daemon/ctl/incidents.h"

namespace outlierd::ctl {

struct LabelledSet {
  std::string source;  // the file the clean traffic came from, or what made it
  EpochSeconds start = 0;
  double days = 0.0;
  std::uint64_t seed = 0;
  Profile profile = Profile::kSubtle;
  int bin_seconds = 300;
  std::vector<EpochSeconds> times;  // of the rows of the file
  std::size_t clean_until_row = 0;
};

// JSON, an object a file. Incidents count rows of the file (first_bin = index into times).
std::string labels_json(const LabelledSet& set, const std::vector<Incident>& incidents,
                        const std::vector<std::string>& columns);

}  // namespace outlierd::ctl
