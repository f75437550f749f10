// What rows and columns are made of, for Channels to score. Columns are walked row by row, in
// strips; every sum is added up in the order of its cells, whoever does it.

#include <algorithm>

#include "core/detect/channels.h"

namespace outlierd::detect {
namespace {

constexpr float kUsual = 0.5f, kMostSurprise = 3.0f;  // of a cell's tail score, in its row's sum

Lanes direction_of(Lanes x) { return with_sign(splat(1.0f), x); }

// What a cell adds to the surprise of its row.
Lanes surprise_of(Lanes tail) {
  return with_sign(clamped(magnitude(tail) - kUsual, Lanes{}, splat(kMostSurprise)), tail);
}

}  // namespace

// Rows and columns: their excess, their volumes, and how surprising their cells are (as in Fisher's
// method: the tail scores of the cells that move the same way, added up).
void Channels::measure_row(const Input& input, std::size_t row) {
  const std::size_t first = row / metrics_ * places_.series + row % metrics_;
  const std::size_t last = (row / metrics_ + 1) * places_.series;
  float count = 0.0f;
  double volume = 0.0;
  for (std::size_t cell = first; cell < last; cell += metrics_) {
    count += input.observed[cell] ? 1.0f : 0.0f;
    volume += input.observed[cell] ? input.volumes[cell] : 0.0;
  }
  for (std::size_t k = 0; k < kHorizons; ++k) {
    RowSums sums;
    for_blocks(first, last, [&](std::size_t from, std::size_t to) {
      add_to_row(input, k, from, to, (metrics_ - (from - first) % metrics_) % metrics_, sums);
    });
    rows_[k].set(row, count, sums.excess, sums.rise, sums.fall, volume, sums.expected);
  }
}

// First what each cell has to say, four at once; then the sums, which are added up in order.
void Channels::add_to_row(const Input& input, std::size_t k, std::size_t from, std::size_t to,
                          std::size_t skip, RowSums& sums) const {
  float rise[kCellBlock], fall[kCellBlock], excess[kCellBlock], centre[kCellBlock];
  const std::uint8_t* seen = input.observed.data() + from;
  for_lanes(0, to - from, [&](auto at) {
    const LaneMask observed = load_bytes(seen, at) != 0;
    const Lanes none = {};
    const Lanes surprise =
        choose(observed, surprise_of(load(cell_tail_[k].data() + from, at)), none);
    store(rise, at, highest(surprise, none));
    store(fall, at, highest(-surprise, none));
    store(excess, at, choose(observed, load(excess_now_[k].data() + from, at), none));
    store(centre, at, choose(observed, load(input.centre[k].data() + from, at), none));
  });
  RowSums sum = sums;
  for (std::size_t i = skip; i < to - from; i += metrics_) {
    sum.excess += excess[i];
    sum.rise += rise[i];
    sum.fall += fall[i];
    sum.expected += double(centre[i]);
  }
  sums = sum;
}

void Channels::measure_columns(const Input& input, std::size_t begin, std::size_t end) {
  for (Side& side : columns_)
    for (std::size_t i = begin; i < end; ++i) side.set(i, 0.0f, 0.0f, 0.0f, 0.0f, 0.0, 0.0);
  const auto add = [](std::vector<float>& sums, auto at, Lanes value) {
    store(sums.data(), at, load(sums.data(), at) + value);
  };
  const auto add_halves = [](std::vector<double>& sums, auto at, const auto& value) {
    for (std::size_t half : {0, 1})
      store_half(sums.data(), at, half, load_half(sums.data(), at, half) + value(half));
  };
  for (std::size_t row = 0; row < tail_.size(); row += places_.series) {
    const std::uint8_t* seen = input.observed.data() + row;
    const double* volumes = input.volumes.data() + row;
    for_lanes(begin, end, [&](auto at) {
      const LaneMask observed = load_bytes(seen, at) != 0;
      add(columns_[0].count, at, choose(observed, splat(1.0f), Lanes{}));
      add_halves(columns_[0].observed, at, [&](std::size_t half) {
        return masked_half(load_half(volumes, at, half), observed, half);
      });
    });
    for (std::size_t k = 0; k < kHorizons; ++k) {
      Side& side = columns_[k];
      const float* tails = cell_tail_[k].data() + row;
      const float* shares = excess_now_[k].data() + row;
      const float* centres = input.centre[k].data() + row;
      for_lanes(begin, end, [&](auto at) {
        const LaneMask observed = load_bytes(seen, at) != 0;
        const Lanes none = {}, surprise = choose(observed, surprise_of(load(tails, at)), none);
        const Lanes centre = choose(observed, load(centres, at), none);
        add(side.excess, at, choose(observed, load(shares, at), none));
        add(side.rise, at, highest(surprise, none));
        add(side.fall, at, highest(-surprise, none));
        add_halves(side.expected, at, [&](std::size_t half) { return half_of(centre, half); });
      });
    }
  }
  for (std::size_t k = 1; k < kHorizons; ++k)
    for (std::size_t i = begin; i < end; ++i) {
      columns_[k].count[i] = columns_[0].count[i];
      columns_[k].observed[i] = columns_[0].observed[i];
    }
}

// The largest excess, in the direction of its row's (or column's) score, of a cell in it.
void Channels::find_most_of_row(std::size_t k, std::size_t row) {
  const float sign = std::copysign(1.0f, rows_[k].tail[row]);
  const std::size_t first = row / metrics_ * places_.series + row % metrics_;
  const std::size_t last = (row / metrics_ + 1) * places_.series;
  float most = 0.0f;
  for (std::size_t cell = first; cell < last; cell += metrics_)
    most = std::max(most, excess_now_[k][cell] * sign);
  rows_[k].most[row] = most;
}

void Channels::find_most_of_columns(std::size_t k, std::size_t begin, std::size_t end) {
  Side& side = columns_[k];
  std::fill(side.most.begin() + begin, side.most.begin() + end, 0.0f);
  for (std::size_t row = 0; row < tail_.size(); row += places_.series)
    for_lanes(begin, end, [&](auto at) {
      const Lanes excess = load(excess_now_[k].data() + row, at);
      store(side.most.data(), at,
            highest(load(side.most.data(), at), excess * direction_of(load(side.tail.data(), at))));
    });
}

}  // namespace outlierd::detect
