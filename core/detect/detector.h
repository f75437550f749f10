#pragma once
// How anomalous each cell of a slice is, by what was known before it (docs/model.md, section 6).
//
// score() says it and changes nothing that is learned; learn() then takes the slice in, flagged
// cells apart. One object, one thread; the same slices give the same scores, bit for bit.

#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/report.h"
#include "core/detect/state_stream.h"
#include "core/model/options.h"
#include "core/traffic/network.h"

namespace outlierd::detect {

struct DetectorOptions {
  model::FactorizerOptions model;
  double minimum_share = 0.01;
};

// Per cell; NaN where there is nothing to say.
struct CellScores {
  std::vector<float> tail;      // -log10 of how rarely it is so far out; its sign is the direction
  std::vector<float> own_tail;  // the same by the cell's own history alone
  std::vector<float> expected;  // in the unit of the data
};

class Detector {
 public:
  Detector(const Network& network, DetectorOptions options);

  // Bins that were left out.
  void skip(std::int64_t bins);
  // second_of_day is local time, for the daily profile.
  const CellScores& score(const Slice& slice, int second_of_day);
  // Between which volumes a cell would by itself stay under a tail score.
  void band(std::size_t cell, float tail, float& low, float& high) const;
  // The slice of the last score(). Flagged cells are left out until the level rule accepts them.
  void learn(std::span<const std::uint32_t> flagged);
  // Cells whose new level learn() has accepted, in order.
  const std::vector<std::uint32_t>& settled() const { return settled_; }
  double warmup() const;
  ModelSummary model_summary() const;
  double evidence_bound();  // M9; NaN before there is a model
  bool ready() const;       // past the first bins, whose scores mean nothing
  void exchange(StateStream& stream);

 private:
  Network network_;
  DetectorOptions options_;
  std::int64_t bins_ = 0;
  double offset_ = 0.0;
  std::vector<float> level_, spread_, value_;
  std::vector<std::uint8_t> seen_, run_;
  Slice slice_;
  CellScores scores_;
  std::vector<std::uint32_t> settled_;
};

}  // namespace outlierd::detect
