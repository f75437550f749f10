#pragma once
// How anomalous each cell of a slice is, by what was known before it (docs/model.md, section 6).
//
// score() says it and changes nothing that is learned; learn() then takes the slice in, flagged
// cells apart. One object, one thread; the same slices give the same scores, bit for bit.

#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/daily_profile.h"
#include "core/detect/low_rank_view.h"
#include "core/detect/report.h"
#include "core/detect/standardizer.h"
#include "core/detect/state_stream.h"
#include "core/detect/view.h"
#include "core/detect/volume_scale.h"
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
  // One function a step of section 6; each reads what the steps before it left.
  void standardize();  // 1 to 3
  void expect();       // the volume expected
  float centre_value(std::size_t horizon, std::size_t cell) const;
  void measure_excess();                            // a: shares of the network's traffic
  void score_cells();                               // 7: cells by themselves
  void score_sums(std::size_t horizon, bool rows);  // 7: rows or columns, to the cells that moved
  void score_shifts(std::size_t horizon);
  void raise(std::size_t cell, float tail);
  float gate(float excess) const;
  void settle(std::size_t cell);
  void learn_total();
  void adopt_scale();

  Network network_;
  DetectorOptions options_;
  Places places_;
  std::int64_t bins_ = 0;
  VolumeScale scale_;
  DailyProfile profile_;
  Standardizer level_, seasonal_;  // of the values; of what the daily profile leaves
  LowRankView low_rank_;
  View plain_, daily_;                                // the low-rank view, the seasonal view
  std::vector<double> total_;                         // by metric: the network's traffic, slowly
  std::array<std::vector<float>, kHorizons> excess_;  // recent share of the traffic, signed
  std::vector<std::uint8_t> run_;                     // slices in a row a cell was flagged

  // Of the slice at hand.
  Slice slice_, standard_;
  std::vector<float> value_, plain_value_, daily_value_, low_rank_part_;
  std::array<std::vector<float>, kHorizons> excess_now_;
  std::array<std::vector<float>, kHorizons> row_excess_, column_excess_;
  CellScores scores_;
  std::vector<std::uint32_t> settled_;
};

}  // namespace outlierd::detect
