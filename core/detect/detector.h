#pragma once
// How anomalous each cell of a slice is, by what was known before it (MODEL section 6).
//
// With model.threads above 1 it keeps a team of its own; any number gives the same scores.
// score() says it and changes nothing that is learned; learn() then takes the slice in, flagged
// cells apart. One object, one thread; the same slices give the same scores, bit for bit.

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/channels.h"
#include "core/detect/daily_profile.h"
#include "core/detect/low_rank_view.h"
#include "core/detect/parts.h"
#include "core/detect/report.h"
#include "core/detect/standardizer.h"
#include "core/detect/state_stream.h"
#include "core/detect/usual_range.h"
#include "core/detect/view.h"
#include "core/detect/volume_scale.h"
#include "core/model/options.h"
#include "core/model/thread_team.h"
#include "core/traffic/network.h"

namespace outlierd::detect {

struct DetectorOptions {
  model::FactorizerOptions model;
  double minimum_share = 0.01;
  PartsLeftOut without = {};
};

// Per cell; NaN where there is nothing to say. Valid until the next score().
struct CellScores {
  std::span<const float> tail;  // -log10 of how rarely it is so far out; its sign is the direction
  std::span<const float> own_tail;  // the same by the cell's own history alone
  std::span<const float> expected;  // in the unit of the data
};

class Detector {
 public:
  Detector(const Network& network, DetectorOptions options);

  // second_of_day is local time, for the daily profile. The slice must stay until learn().
  CellScores score(const Slice& slice, int second_of_day);
  // Between which volumes each cell of [begin, end) would by itself stay under a tail score.
  void bands(std::size_t begin, std::size_t end, float tail, float* low, float* high) const;
  // The slice of the last score(). Flagged cells are left out until the level rule accepts them.
  void learn(std::span<const std::uint32_t> flagged);
  // Cells whose new level learn() has accepted, in order.
  const std::vector<std::uint32_t>& settled() const { return settled_; }
  double warmup() const;
  ModelSummary model_summary() const;
  double evidence_bound();  // M9; NaN before there is a model
  bool ready() const;       // past the first bins, whose scores mean nothing
  void exchange(StateStream& stream);
  model::ThreadTeam& team() { return team_; }  // idle between the calls of this object

 private:
  // One function a step of section 6; each reads what the steps before it left.
  template <class At>
  void standardize_at(At at);
  void look(std::size_t begin, std::size_t end);
  template <class At>
  void expect_at(At at);
  template <class At>
  Lanes centre_value_at(std::size_t horizon, At at) const;
  Channels::Input channels_input() const {
    const std::span<const View* const> views(views_);
    return {options_.without.has(Part::kDaily) ? views.first(1) : views,
            standard_.observed,
            slice_->values,
            centre_,
            scale_,
            second_of_day_,
            &range_,
            value_};
  }
  void set_lessons(std::size_t begin, std::size_t end);
  template <class At>
  void learn_at(At at);
  int patience() const;
  void learn_volume(double volume, double seen);
  void adopt_scale();

  model::ThreadTeam team_;
  Network network_;
  DetectorOptions options_;
  Places places_;
  std::int64_t bins_ = 0;
  VolumeScale scale_;
  DailyProfile profile_;
  Standardizer level_, seasonal_;  // of the values; of what the daily profile leaves
  UsualRange range_;
  LowRankView low_rank_;
  View plain_, daily_;  // of what the low-rank part leaves; of what the profile leaves
  std::array<const View*, 2> views_ = {&plain_, &daily_};
  Channels channels_;
  std::vector<std::uint8_t> run_;  // slices in a row a cell was flagged

  // Of the slice at hand.
  const Slice* slice_ = nullptr;
  int second_of_day_ = 0;
  Slice standard_;
  std::vector<float> value_, plain_value_, daily_value_, expected_;
  HorizonColumns centre_;
  std::vector<std::uint8_t> flagged_;  // 1 for a flagged cell, else 0
  std::vector<std::uint8_t> lessons_;
  std::vector<std::uint32_t> settled_;
};

}  // namespace outlierd::detect
