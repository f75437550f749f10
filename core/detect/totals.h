#pragma once
// One metric of a slice taken together: what was observed, and what was expected of the cells that
// were. A cell of which nothing is expected yet counts on both sides as it was observed.
//
// The band of a total is its own, not that of its cells, whose tails are far too heavy to add up:
//
//   expected * exp(+-threshold * 1.4826 median |ln(observed / expected)|)
//
// over the slices before it, a day of five minutes at most.

#include <cstddef>
#include <deque>

#include "core/detect/report.h"

namespace outlierd {

struct SliceTotal {  // in the unit of the data; NaN: there was no such cell
  double observed = std::numeric_limits<double>::quiet_NaN(), expected = observed;
};

SliceTotal total_of(const SliceReport& report, std::size_t metrics, std::size_t metric);

// Goes along a network's slices, the oldest first.
class TotalBand {
 public:
  static constexpr std::size_t kSlices = 288, kFewest = 24;

  struct Band {
    double low = std::numeric_limits<double>::quiet_NaN(), high = low;  // NaN: too little is known
  };
  // The band of this total, from those before it; then it is one of them.
  Band next(const SliceTotal& total, double threshold);

 private:
  std::deque<double> newest_;   // |ln(observed / expected)|, oldest first
  std::vector<double> sorted_;  // the same
};

}  // namespace outlierd
