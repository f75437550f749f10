#pragma once
// What is missing, by the sequence numbers of one stream of datagrams. Numbers wrap at 2^32. A
// number a little behind is a datagram that was overtaken; one far off, or a run of them in order,
// is an exporter that began anew.

#include <cstdint>

namespace outlierd::ingest {

// What the numbers count: the records of the datagrams, or the datagrams. kEither is NetFlow v9,
// which counts datagrams by its specification and records in some exporters; the first step that
// can tell decides.
enum class SequenceUnit : std::uint8_t { kRecords, kDatagrams, kEither };

struct SequenceGap {
  std::uint32_t lost = 0;  // in the unit
  SequenceUnit unit = SequenceUnit::kRecords;
  bool reordered = false, restarted = false;
};

class SequenceTracker {
 public:
  // `records`: how many this datagram carries. `whole`: false when that is not known, so that
  // nothing can be expected of the next where records are counted. `began_anew`: the caller knows
  // that the exporter did (its uptime went back).
  SequenceGap observe(std::uint32_t sequence, std::uint32_t records, bool whole, SequenceUnit unit,
                      bool began_anew);

 private:
  void expect_after(std::uint32_t sequence, std::uint32_t records, bool whole, SequenceUnit unit);

  bool known_ = false;
  std::uint32_t last_ = 0, last_records_ = 0, next_ = 0;
  SequenceUnit learned_ = SequenceUnit::kEither;
  std::uint32_t late_next_ = 0, late_run_ = 0;
};

}  // namespace outlierd::ingest
