#pragma once
// Rows, columns and shifts at one horizon (MODEL section 6 step 5 and c).
//
// A row or a column is a number made of its cells, whatever it is, against a level and a spread of
// its own. A shift is, for each destination, the smaller of the largest rise and the largest fall.

#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/state_stream.h"
#include "core/detect/tails.h"

namespace outlierd::detect {

// Sums with a level and a spread of their own, nodes x metrics of them.
class NodeSums {
 public:
  NodeSums(std::size_t series, float horizon_bins, double bins_a_day, float least_spread);

  void clear();
  // The sum, and of how many cells.
  void set(std::size_t series, float sum, float cells) {
    sum_[series] = sum;
    count_[series] = cells;
  }
  // The deviation of each sum; 0 where fewer than half of the usual cells were seen.
  void finish();
  float deviation(std::size_t series) const { return deviation_[series]; }
  float tail(std::size_t series) const { return tails_.score(series, deviation_[series]); }
  void learn(bool tails);
  void exchange(StateStream& stream);

 private:
  float level_weight_, spread_weight_, fast_weight_, least_spread_;
  std::vector<float> level_, spread_, fast_, usual_;  // usual: number of cells
  std::vector<std::uint8_t> seen_;
  Tails tails_;
  std::vector<float> sum_, count_, deviation_;  // of the slice at hand
};

struct Shift {
  float deviation = 0.0f, tail = 0.0f;
  std::int32_t rising = -1, falling = -1;  // origins
};

class Shifts {
 public:
  Shifts(std::size_t series, float horizon_bins);

  // Of the series [begin, end), from the deviations of all cells: rows of series.
  void find(std::span<const float> deviation, std::size_t begin, std::size_t end);
  const Shift& operator[](std::size_t series) const { return shifts_[series]; }
  void learn();
  void exchange(StateStream& stream) { tails_.exchange_nodes(stream); }

 private:
  template <class At>
  void add_at(At at, const float* deviation, std::int32_t origin);

  Tails tails_;
  std::vector<Shift> shifts_;
  std::vector<float> rise_, fall_;
  std::vector<std::int32_t> rising_, falling_;
};

}  // namespace outlierd::detect
