#pragma once
// Parts of bins into closed slices: each bin closes once, in order. What is due is decided by
// due(), what is done by close_through(), so that a journal can record the decision between the two
// and a replay can repeat it. A bin is due (CONTRACT.md) when
//
//   complete   every listed source has said so (none listed: any part has), or
//   watermark  a part has come whose bin starts at or after this bin's end + lateness, or
//   quiet      lateness has passed on the wall clock since its end and since its last part,
//
// and with it all earlier ones. Wall-clock times are arguments. One thread.

#include <cstddef>
#include <deque>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "core/traffic/matrix_part.h"

namespace outlierd {

struct AssemblerOptions {
  int lateness_seconds = 60;
  std::vector<std::string> sources;  // who must be complete before a bin closes early
  std::size_t max_open_bytes = std::size_t{512} << 20;  // of parts in open bins
};

enum class PartVerdict {
  kAdded,
  kReplaced,   // the same source and sequence was there
  kDuplicate,  // its bin is closed and the part is in it
  kLate,       // its bin is closed without it
  kTooMuch,    // open bins hold as much as they may
};

struct ClosedBin {
  EpochSeconds time = 0;
  Slice slice;
};

// Which part, for telling one sent again from one that is new.
struct PartKey {
  EpochSeconds time = 0;
  std::uint64_t source_hash = 0, sequence = 0;
  int metric = 0;
  auto operator<=>(const PartKey&) const = default;
};

class BinAssembler {
 public:
  BinAssembler(Network network, AssemblerOptions options);

  PartVerdict add(const MatrixPart& part, EpochSeconds now);
  // The latest bin that is due, if any.
  std::optional<EpochSeconds> due(EpochSeconds now) const;
  // Closes it and all earlier ones; bins nobody spoke of are left out.
  std::vector<ClosedBin> close_through(EpochSeconds time);

  // When due() may say more without a further part.
  std::optional<EpochSeconds> quiet_at() const;
  std::optional<EpochSeconds> closed_through() const { return closed_through_; }
  std::size_t open_bins() const { return bins_.size(); }
  std::size_t open_bytes() const { return open_bytes_; }

  // What must outlive a restart beside the open parts: where it stands, and the keys of parts in
  // bins closed lately.
  struct Memory {
    std::optional<EpochSeconds> closed_through;
    std::vector<PartKey> closed_parts;  // oldest first
  };
  Memory memory() const;
  void restore(const Memory& memory);

  static constexpr std::size_t kRememberedParts = 4096;

 private:
  struct KeyedPart {
    PartKey key;
    MatrixPart part;
  };
  struct OpenBin {
    Slice unkeyed;  // sum of parts without a key; no cells before the first
    std::vector<KeyedPart> parts;
    std::vector<bool> complete;  // per listed source
    bool any_complete = false;
    EpochSeconds last_part = 0;
    std::size_t bytes = 0;
  };

  bool is_complete(const OpenBin& bin) const;
  EpochSeconds quiet_time(EpochSeconds time, const OpenBin& bin) const;
  void add_values(const MatrixPart& part, Slice& slice) const;
  Slice sum_of(OpenBin& bin) const;
  void remember(const PartKey& key);
  bool remembers(const PartKey& key) const;

  Network network_;
  AssemblerOptions options_;
  std::map<EpochSeconds, OpenBin> bins_;
  std::size_t open_bytes_ = 0;
  std::optional<EpochSeconds> newest_part_;  // start of the latest bin a part came for
  std::optional<EpochSeconds> closed_through_;
  std::deque<PartKey> closed_parts_;
  std::map<PartKey, int> closed_index_;  // how often a key stands in closed_parts_
};

}  // namespace outlierd
