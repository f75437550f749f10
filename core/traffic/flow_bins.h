#pragma once
// Harvests of all receivers of a network into finished bins. A bin [b, b + width) is over when
//
//   reached   every exporter that speaks has come to its end + lateness by its own clock, or
//   quiet     lateness has passed by our clock since its end and since its last record, or
//   overdue   twice the lateness has passed since the end of a bin that was filled while it ran,
//
// and with it all earlier ones. Rows that lack an exporter, and a bin that was running when
// listening began, are not observed: never zero. One thread; times are milliseconds, an argument.

#include <map>
#include <optional>
#include <vector>

#include "core/traffic/exporter_book.h"
#include "core/traffic/matrix_part.h"

namespace outlierd {

struct FlowBinsOptions {
  Network network;
  int lateness_seconds = 60;
  std::int64_t listening_since = 0;
  std::size_t most_open_bytes = std::size_t{512} << 20;
  std::size_t most_talkers = 16384;  // of a bin
};

struct FinishedBin {
  EpochSeconds time = 0;
  std::vector<MatrixPart> parts;  // one a metric; the last one says complete
  std::vector<Talker> talkers;
  std::size_t hidden_rows = 0;
};

struct FlowBinsCounts {
  std::uint64_t late_records = 0, rows_hidden = 0, bins = 0;
};

class FlowBins {
 public:
  static constexpr const char* kSource = "flows";

  FlowBins(FlowBinsOptions options, std::shared_ptr<const NodeMap> map);

  void use_map(std::shared_ptr<const NodeMap> map) { map_ = std::move(map); }
  void close_through(EpochSeconds time);  // closed elsewhere, before a restart
  std::optional<EpochSeconds> closed_through() const { return closed_through_; }

  void add(FlowHarvest&& harvest, std::int64_t now);
  std::vector<FinishedBin> due(std::int64_t now);
  // At the end: bins that are past, whether or not more might have come.
  std::vector<FinishedBin> flush(std::int64_t now);

  const ExporterBook& book() const { return book_; }
  const FlowBinsCounts& counts() const { return counts_; }
  std::size_t open_bins() const { return open_.size(); }
  std::vector<ExporterNotice> take_notices() { return std::exchange(notices_, {}); }

  // What has gathered in bins that still run, for a restart that comes soon; total as all readers.
  std::vector<std::byte> save(std::int64_t now) const;
  bool restore(std::span<const std::byte> bytes, std::int64_t now);

 private:
  struct OpenBin {
    AlignedDoubles cells;
    std::vector<Talker> talkers;
    std::int64_t first = 0, last = 0;  // when records came for it
    bool whole = false;                // restored: it lacks nothing of note
  };

  std::int64_t end_of(EpochSeconds bin) const {
    return (bin + options_.network.bin_seconds) * 1000;
  }
  bool is_over(EpochSeconds time, const OpenBin& bin, std::int64_t reached, std::int64_t now) const;
  FinishedBin finish(EpochSeconds time, OpenBin&& bin, std::int64_t now);
  std::vector<FinishedBin> finish_through(EpochSeconds time, std::int64_t now);

  FlowBinsOptions options_;
  std::shared_ptr<const NodeMap> map_;
  ExporterBook book_;
  std::map<EpochSeconds, OpenBin> open_;
  std::optional<EpochSeconds> closed_through_;
  std::vector<ExporterNotice> notices_;
  FlowBinsCounts counts_;
};

}  // namespace outlierd
