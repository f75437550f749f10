#pragma once
// What a factorizer can be told. The defaults suit five-minute bins (docs/model.md, "Streaming").

#include <string>

#include "core/traffic/slice.h"

namespace outlierd::model {

enum class Rules {
  kOutlierd,  // the repaired model: M1-M5, M8, M10, streamed
  kPaper,     // the printed rules: every slice cold from the raw window, M6-M7 with flat priors
};

struct FactorizerOptions {
  Rules rules = Rules::kOutlierd;
  int max_rank = 10;           // components at most; how many are in use is found
  int window = 20;             // slices that A and B are fitted to
  double forgetting = 0.98;    // mu: a slice k steps back has weight mu^k, in (0, 1]
  int cold_start_slices = 20;  // slices gathered before the first fit; never more than the window
  int cold_sweeps = 60;        // sweeps at most of a cold start
  int warm_sweeps = 2;         // sweeps at most of a warm slice; more do not help (docs/model.md)
  double tolerance = 1e-4;     // stop when L changes by less, relative
  int projection_rounds = 10;  // rounds at most of c (M4) and S (M10) before learning
  bool sparse = true;          // false: no sparse part, S = 0 throughout
  double outlier_sigmas = 4;   // z* of M10: residuals from here on are outliers, above 1
  int level_slices = 6;        // flagged so often in a row, a cell has a new level and is learned
  int reseed_slices = 5;       // how often a free component may be seeded from the residual
  int threads = 1;             // of this factorizer; any number gives the same result

  // One sentence, or empty when the options hold together.
  std::string problem() const;
};

// One sentence, or empty when a factorizer can be built for such slices.
std::string problem_of(const SliceShape& shape);

}  // namespace outlierd::model
