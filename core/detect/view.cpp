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
    : horizons(cells, bins_a_day), series_(places.series), beyond_(std::size_t(parts_of(cells))) {
  for (std::size_t k = 0; k < kHorizons; ++k) {
    cells_.emplace_back(cells, kHorizonBins[k]);
    shifts_.emplace_back(places.series, kHorizonBins[k]);
  }
}

void View::find_shifts(model::ThreadTeam& team) {
  // A strip of columns each: narrow ones stream badly.
  constexpr std::size_t kLeastStrip = 256;
  const std::size_t strips = 1 + (series_ - 1) / kLeastStrip;
  team.run(int(kHorizons * strips), [&](int task) {
    const std::size_t k = std::size_t(task) % kHorizons, strip = std::size_t(task) / kHorizons;
    shifts_[k].find(horizons.deviation(k), series_ * strip / strips,
                    series_ * (strip + 1) / strips);
  });
}

void View::learn_tails(std::span<const std::uint8_t> observed, int part, std::size_t begin,
                       std::size_t end) {
  for (std::size_t k = 0; k < kHorizons; ++k)
    cells_[k].learn(begin, end, horizons.deviation(k).data() + begin, observed.data() + begin,
                    beyond_[std::size_t(part)][k]);
}

void View::pool_tails(std::size_t horizon) {
  shifts_[horizon].learn();
  for (auto& part : beyond_) {
    cells_[horizon].pool(part[horizon]);
    part[horizon].clear();
  }
  cells_[horizon].end_bin();
}

void View::learn_tails(std::span<const std::uint8_t> observed, model::ThreadTeam& team) {
  for_parts(team, observed.size(), observed.size(),
            [&](int part, std::size_t begin, std::size_t end) {
              learn_tails(observed, part, begin, end);
            });
  team.run(int(kHorizons), [&](int horizon) { pool_tails(std::size_t(horizon)); });
}

void View::exchange(StateStream& stream) {
  horizons.exchange(stream);
  for (std::size_t k = 0; k < kHorizons; ++k) {
    cells_[k].exchange_cells(stream);
    shifts_[k].exchange(stream);
  }
}

}  // namespace outlierd::detect
