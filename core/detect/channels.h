#pragma once
// From the tail scores of views to one score a cell (MODEL section 6 steps 5 to 7): the cells
// themselves, rows and columns, shifts, at every horizon; each gated by its own excess, the largest
// wins. Whatever predicts the cells, this is what makes decisions of its residuals.
//
// score() says it and changes nothing that is learned; learn() then takes the slice in.

#include <array>
#include <cmath>
#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/aggregates.h"
#include "core/detect/cell_parts.h"
#include "core/detect/lanes.h"
#include "core/detect/parts.h"
#include "core/detect/restlessness.h"
#include "core/detect/state_stream.h"
#include "core/detect/tails.h"
#include "core/detect/usual_range.h"
#include "core/detect/view.h"
#include "core/detect/volume_scale.h"
#include "core/model/thread_team.h"

namespace outlierd::detect {

using HorizonColumns = std::array<std::vector<float>, kHorizons>;

// Rows or columns at one horizon: how surprising their cells are together, and their volumes
// against the sum of what is expected of their cells.
struct Side {
  Side(std::size_t series, float horizon_bins, double bins_a_day);
  void set(std::size_t series, float cells, float excess_of, float rise_of, float fall_of,
           double volume, double centre) {
    count[series] = cells;
    excess[series] = excess_of;
    rise[series] = rise_of;
    fall[series] = fall_of;
    observed[series] = volume;
    expected[series] = centre;
  }
  void learn(bool tails);
  void exchange(StateStream& stream);

  NodeSums rises, falls, volumes;
  std::vector<float> recent;  // gap between the two volumes

  // Of the slice at hand.
  std::vector<float> count, excess, rise, fall, recent_now, tail, most;
  std::vector<double> observed, expected;
};

class Channels {
 public:
  static constexpr float kUpwardCells = 0.9f;  // d: what a rise of one bin counts

  struct Input {
    std::span<const View* const> views;      // scored; what they say is averaged
    std::span<const std::uint8_t> observed;  // cells that have a score
    std::span<const double> volumes;         // of the cells observed
    const HorizonColumns& centre;            // the volume that each horizon compares with
    const VolumeScale& scale;
    int second_of_day;                  // local
    const UsualRange* range = nullptr;  // of `values`, where it is known
    std::span<const float> values = {};
  };

  Channels(const Network& network, double minimum_share, PartsLeftOut without = {});

  void score(const Input& input, model::ThreadTeam& team);
  // Signed -log10 of the rate; NaN where there is no score.
  const std::vector<float>& tail() const { return tail_; }
  // The same by the cell's own history alone.
  const std::vector<float>& own_tail() const { return own_tail_; }
  // What every score of the slice was multiplied by, in (0, 1].
  float calm() const { return calm_; }

  // The slice of the last score(); `measured` are the cells whose volume counts in the traffic,
  // what was not measured counts as expected, where that is known (not NaN).
  void learn(const Input& input, std::span<const std::uint8_t> measured,
             std::span<const float> expected, bool ready, model::ThreadTeam& team);
  void exchange(StateStream& stream);

 private:
  static constexpr float kThousandth = 1e-3f;  // of the traffic: the unit of share_tails_

  void measure_cells(const Input& input, std::size_t horizon, std::size_t begin, std::size_t end);
  template <class At>
  LaneMask has_total_at(At at) const;
  template <class At>
  void score_at(const Input& input, At at);
  // Rows and columns are measured in parts of their own: rows of cells, and strips of columns.
  struct RowSums {
    float excess = 0.0f, rise = 0.0f, fall = 0.0f;
    double expected = 0.0;
  };
  void measure_row(const Input& input, std::size_t row);
  void add_to_row(const Input& input, std::size_t horizon, std::size_t from, std::size_t to,
                  std::size_t skip, RowSums& sums) const;
  void measure_columns(const Input& input, std::size_t begin, std::size_t end);
  void score_side(const Input& input, std::size_t horizon, Side& side, float weight);
  void find_most_of_row(std::size_t horizon, std::size_t row);
  void find_most_of_columns(std::size_t horizon, std::size_t begin, std::size_t end);
  template <class At>
  void spread_to(const Input& input, std::size_t horizon, std::size_t origin, At column);
  void score_shifts(const Input& input, std::size_t horizon);
  void raise(std::size_t cell, float tail);
  void weigh_by_range(const Input& input, model::ThreadTeam& team);
  void calm_down(const Input& input, model::ThreadTeam& team);
  float gate(float excess) const;
  Lanes gate(Lanes excess) const;
  void add_up(const Input& input, std::span<const std::uint8_t> measured,
              std::span<const float> expected);
  void learn_total();
  // of_rows(begin, end) and of_columns(begin, end) for ranges that together are all of them.
  template <class Rows, class Columns>
  void for_sides(model::ThreadTeam& team, const Rows& of_rows, const Columns& of_columns) const;

  std::size_t nodes_, metrics_;
  int bin_seconds_;
  float minimum_share_;
  PartsLeftOut without_;
  Places places_;
  std::int64_t bins_ = 0;
  std::vector<Side> rows_, columns_;  // at each horizon
  std::vector<Tails> share_tails_;    // of excess_, at each horizon but the first
  HorizonColumns excess_;             // recent share of the traffic, signed
  std::vector<double> total_;         // by metric: the network's traffic, slowly
  Restlessness restlessness_;

  // Of the slice at hand.
  HorizonColumns excess_now_, cell_tail_;
  std::vector<float> tail_, own_tail_;
  float calm_ = 1.0f, restless_ = 0.0f;
  std::vector<double> total_now_;
  bool any_measured_ = false;
  std::vector<std::array<Tails::Exceedances, kHorizons - 1>> beyond_;  // of share_tails_, by part
};

}  // namespace outlierd::detect
