#pragma once
// The nodes and metrics that slices are made of, as they were when a slice was written.

#include <cstdint>
#include <optional>

#include "core/traffic/network.h"
#include "daemon/store/database.h"

namespace outlierd::store {

// A series of one cell reads one block of this many cells, not the whole slice.
inline constexpr std::size_t kBlockCells = 16384;

struct Layout {
  Network network;
  int block_rows = 1;  // origins in a block

  std::size_t row_cells() const { return network.nodes.size() * network.metrics.size(); }
  int blocks() const { return (int(network.nodes.size()) + block_rows - 1) / block_rows; }
  // Origins [first, last) of a block.
  int first_row(int block) const { return block * block_rows; }
  int last_row(int block) const;
};

inline std::int64_t block_id(std::int64_t slice, int block) { return slice << 16 | block; }

// Nothing if there is no such layout.
std::optional<Layout> read_layout(Database& database, std::int64_t id);
// The layout of exactly this network, written if it is new.
std::int64_t intern_layout(Database& database, std::int64_t network_id, const Network& network);
// The number of a word in `networks` or `names`, added if it is new.
std::int64_t intern(Database& database, const char* table, const std::string& word);

}  // namespace outlierd::store
