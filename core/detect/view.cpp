#include "core/detect/view.h"

namespace outlierd::detect {

Places::Places(const Network& network) : series(network.nodes.size() * network.metrics.size()) {
  const std::size_t nodes = network.nodes.size(), metrics = network.metrics.size();
  for (std::size_t from = 0; from < nodes; ++from)
    for (std::size_t to = 0; to < nodes; ++to)
      for (std::size_t metric = 0; metric < metrics; ++metric) {
        row.push_back(std::uint32_t(from * metrics + metric));
        column.push_back(std::uint32_t(to * metrics + metric));
        origin.push_back(std::int32_t(from));
      }
}

View::View(std::size_t cells, const Places& places, double bins_a_day)
    : horizons(cells, bins_a_day) {
  for (std::size_t k = 0; k < kHorizons; ++k) {
    cells_.emplace_back(cells);
    shifts_.emplace_back(places.series);
  }
}

void View::score(std::span<const float> values, std::span<const std::uint8_t> observed,
                 const Places& places) {
  horizons.score(values, observed);
  for (std::size_t k = 0; k < kHorizons; ++k) {
    const std::span<const float> deviation = horizons.deviation(k);
    shifts_[k].clear();
    for (std::size_t cell = 0; cell < deviation.size(); ++cell) {
      if (!observed[cell]) continue;
      shifts_[k].add(places.column[cell], places.origin[cell], deviation[cell]);
    }
    shifts_[k].finish();
  }
}

void View::learn_tails(std::span<const std::uint8_t> observed) {
  for (std::size_t k = 0; k < kHorizons; ++k) {
    shifts_[k].learn();
    const std::span<const float> deviation = horizons.deviation(k);
    for (std::size_t cell = 0; cell < deviation.size(); ++cell)
      if (observed[cell]) cells_[k].learn(cell, deviation[cell]);
    cells_[k].end_bin();
  }
}

void View::exchange(StateStream& stream) {
  horizons.exchange(stream);
  for (std::size_t k = 0; k < kHorizons; ++k) {
    cells_[k].exchange_cells(stream);
    shifts_[k].exchange(stream);
  }
}

}  // namespace outlierd::detect
