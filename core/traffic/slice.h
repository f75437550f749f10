#pragma once
// One bin of traffic as an N-way array: origin x destination, or origin x destination x metric.
//
// Cells are stored flat, the last index running fastest. A cell that was not observed has no
// value: what stands in `values` under a closed mask is never read by the model.
//
// A plain value: copy it, move it, share nothing.

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace outlierd {

// Sizes of the modes; at least one mode, each of at least one node.
using SliceShape = std::vector<int>;

inline std::size_t cell_count(const SliceShape& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::size_t{1},
                         [](std::size_t cells, int size) { return cells * std::size_t(size); });
}

struct Slice {
  SliceShape shape;
  std::vector<double> values;
  std::vector<std::uint8_t> observed;  // 1 where a value was measured, else 0

  Slice() = default;

  // Nothing observed yet.
  explicit Slice(SliceShape shape_in)
      : shape(std::move(shape_in)), values(cell_count(shape), 0.0), observed(values.size(), 0) {}

  void set(std::size_t cell, double value) {
    values[cell] = value;
    observed[cell] = 1;
  }
  void hide(std::size_t cell) { observed[cell] = 0; }
};

}  // namespace outlierd
