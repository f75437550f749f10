#pragma once
// Loops over the cells of a network, in parts on the threads of a team. How many parts depends on
// the number of cells alone, so that what is gathered by part is the same on any number of threads.

#include <algorithm>
#include <cstddef>

#include "core/model/thread_team.h"

namespace outlierd::detect {

inline int parts_of(std::size_t cells) {
  constexpr std::size_t kMostParts = 16, kLeastPart = 20000;
  return int(std::min(kMostParts, 1 + cells / kLeastPart));
}

// Calls f(part, begin, end) for parts_of(cells) ranges that together are [0, n). What f does in one
// must not touch another.
template <class F>
void for_parts(model::ThreadTeam& team, std::size_t cells, std::size_t n, const F& f) {
  const int parts = parts_of(cells);
  team.run(parts, [&](int part) {
    f(part, n * std::size_t(part) / std::size_t(parts),
      n * std::size_t(part + 1) / std::size_t(parts));
  });
}

// Calls f(begin, end) for ranges that together are all cells.
template <class F>
void for_cells(model::ThreadTeam& team, std::size_t cells, const F& f) {
  for_parts(team, cells, cells, [&](int, std::size_t begin, std::size_t end) { f(begin, end); });
}

// The same, with beside() at the same time: a sum whose order of addition is fixed.
template <class Beside, class F>
void for_parts_beside(model::ThreadTeam& team, std::size_t cells, const Beside& beside,
                      const F& f) {
  const int parts = parts_of(cells);
  team.run(parts + 1, [&](int task) {
    if (task == 0) return beside();
    f(task - 1, cells * std::size_t(task - 1) / std::size_t(parts),
      cells * std::size_t(task) / std::size_t(parts));
  });
}

// Calls f(begin, end) for short ranges that together are [begin, end): what a step leaves of one is
// still in cache for the next step.
inline constexpr std::size_t kCellBlock = 512;
template <class F>
void for_blocks(std::size_t begin, std::size_t end, const F& f) {
  for (std::size_t from = begin; from < end; from += kCellBlock)
    f(from, std::min(from + kCellBlock, end));
}

}  // namespace outlierd::detect
