#pragma once
// Warm slices of a StreamingFactorizer, next to the limit of MODEL section 4: registers the
// benchmarks, and turns their times into figures.

#include <map>
#include <string>
#include <vector>

#include "tests/bench/limits.h"

namespace outlierd::bench {

struct FactorizerCase {
  int nodes;
  int observed_percent;
  int threads;
};

struct FactorizerFigure {
  FactorizerCase at;
  double seconds;             // a warm slice: projection and two sweeps
  double projection_seconds;  // of these
  double multiply_adds;       // of one sweep, MODEL section 4
  double bytes;               // two passes of the ring
  double fraction_of_limit;   // limit of a sweep / time of a sweep
  double resident_megabytes;  // the process, without the slices kept as input
};

// In order; each case builds on the one before it with the same nodes and mask.
void register_factorizer_benchmarks(const std::vector<int>& nodes);

// seconds: benchmark name -> seconds an iteration.
std::vector<FactorizerFigure> factorizer_figures(const std::map<std::string, double>& seconds,
                                                 const std::map<int, Limits>& limits);

}  // namespace outlierd::bench
