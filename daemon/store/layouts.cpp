#include "daemon/store/layouts.h"

#include <algorithm>
#include <vector>

namespace outlierd::store {

int Layout::last_row(int block) const {
  return std::min(first_row(block) + block_rows, int(network.nodes.size()));
}

std::optional<Layout> read_layout(Database& database, std::int64_t id) {
  Layout layout;
  {
    Query row(database,
              "SELECT n.name, l.bin_seconds, l.block_rows FROM layouts l "
              "JOIN networks n ON n.id = l.network WHERE l.id = ?");
    if (!row.bind(id).step()) return std::nullopt;
    layout.network.name = row.text(0);
    layout.network.bin_seconds = int(row.integer(1));
    layout.block_rows = std::max(1, int(row.integer(2)));
  }
  layout.network.metrics.clear();
  Query names(database,
              "SELECT l.is_metric, n.name FROM layout_names l JOIN names n ON n.id = l.name "
              "WHERE l.layout = ? ORDER BY l.is_metric, l.place");
  names.bind(id);
  while (names.step())
    (names.integer(0) ? layout.network.metrics : layout.network.nodes).push_back(names.text(1));
  return layout;
}

std::int64_t intern_layout(Database& database, std::int64_t network_id, const Network& network) {
  std::vector<std::int64_t> known;
  {
    Query ids(database, "SELECT id FROM layouts WHERE network = ? ORDER BY id DESC");
    ids.bind(network_id);
    while (ids.step()) known.push_back(ids.integer(0));
  }
  for (std::int64_t id : known)
    if (const auto layout = read_layout(database, id); layout && layout->network == network)
      return id;

  const std::size_t row_cells = network.nodes.size() * network.metrics.size();
  const std::size_t rows =
      std::max<std::size_t>(1, kBlockCells / std::max<std::size_t>(1, row_cells));
  Query(database, "INSERT INTO layouts (network, bin_seconds, block_rows) VALUES (?, ?, ?)")
      .bind(network_id)
      .bind(network.bin_seconds)
      .bind(std::int64_t(rows))
      .run();
  const std::int64_t id = database.last_id();
  for (const bool is_metric : {false, true}) {
    int place = 0;
    for (const std::string& word : is_metric ? network.metrics : network.nodes) {
      const std::int64_t name = intern(database, "names", word);
      Query(database, "INSERT INTO layout_names VALUES (?, ?, ?, ?)")
          .bind(id)
          .bind(is_metric)
          .bind(place++)
          .bind(name)
          .run();
    }
  }
  return id;
}

std::int64_t intern(Database& database, const char* table, const std::string& word) {
  {
    Query known(database, std::string("SELECT id FROM ") + table + " WHERE name = ?");
    if (known.bind(word).step()) return known.integer(0);
  }
  Query(database, std::string("INSERT INTO ") + table + " (name) VALUES (?)").bind(word).run();
  return database.last_id();
}

}  // namespace outlierd::store
