#pragma once
// One way of looking at the cells: their horizons, and the tail scores of these and of shifts
// between two cells (MODEL section 6 steps 4 to 6).

#include <array>
#include <span>
#include <vector>

#include "core/detect/aggregates.h"
#include "core/detect/cell_horizons.h"
#include "core/detect/cell_parts.h"
#include "core/detect/tails.h"
#include "core/traffic/network.h"

namespace outlierd::detect {

// Where a cell lies: its row, its column and itself among the series of each kind.
struct Places {
  explicit Places(const Network& network);
  std::vector<std::uint32_t> row, column;  // of each cell, among nodes x metrics
  std::vector<std::int32_t> origin;
  std::size_t series = 0;  // nodes x metrics
};

class View {
 public:
  View(std::size_t cells, const Places& places, double bins_a_day);

  // First the horizons of all cells, on any threads; then the shifts.
  void find_shifts(model::ThreadTeam& team);
  // Signed tail scores at a horizon.
  float cell_tail(std::size_t horizon, std::size_t cell) const {
    return cells_[horizon].score(cell, horizons.deviation(horizon)[cell]);
  }
  template <class At>
  Lanes cell_tail_at(std::size_t horizon, At at) const {
    return cells_[horizon].score_at(at, load(horizons.deviation(horizon).data(), at));
  }
  const Shifts& shifts(std::size_t horizon) const { return shifts_[horizon]; }
  const Tails& tails(std::size_t horizon) const { return cells_[horizon]; }

  // What the series' tails learn of the slice at hand; the cells' horizons learn on their own. The
  // cells of [begin, end), which belong to `part` of parts_of(cells); when all have, pool_tails().
  void learn_tails(std::span<const std::uint8_t> observed, int part, std::size_t begin,
                   std::size_t end);
  void pool_tails(std::size_t horizon);
  // All of that.
  void learn_tails(std::span<const std::uint8_t> observed, model::ThreadTeam& team);
  void exchange(StateStream& stream);

  CellHorizons horizons;

 private:
  std::vector<Tails> cells_;
  std::vector<Shifts> shifts_;
  std::size_t series_;
  std::vector<std::array<Tails::Exceedances, kHorizons>> beyond_;  // by part
};

}  // namespace outlierd::detect
