#include "daemon/ingest/flow/sequence.h"

namespace outlierd::ingest {
namespace {

constexpr std::int64_t kMostLost = 1 << 24;       // beyond it the exporter began anew
constexpr std::int64_t kMostOvertaken = 1 << 14;  // behind by more: the same
constexpr std::uint32_t kLateRun = 4;             // so many late ones in order are no accident

}  // namespace

void SequenceTracker::expect_after(std::uint32_t sequence, std::uint32_t records, bool whole,
                                   SequenceUnit unit) {
  last_ = sequence;
  last_records_ = whole ? records : 0;
  known_ = whole || unit == SequenceUnit::kDatagrams;
  next_ = sequence + (unit == SequenceUnit::kRecords ? records : 1);
  late_run_ = 0;
}

SequenceGap SequenceTracker::observe(std::uint32_t sequence, std::uint32_t records, bool whole,
                                     SequenceUnit unit, bool began_anew) {
  SequenceGap gap;
  if (began_anew) {
    known_ = false;
    learned_ = SequenceUnit::kEither;
    gap.restarted = true;
  }
  if (unit == SequenceUnit::kEither) {
    if (learned_ == SequenceUnit::kEither && known_ && last_records_ > 1) {
      if (sequence - last_ == 1) learned_ = SequenceUnit::kDatagrams;
      if (sequence - last_ == last_records_) {
        learned_ = SequenceUnit::kRecords;
        next_ = sequence;
      }
    }
    unit = learned_ == SequenceUnit::kEither ? SequenceUnit::kDatagrams : learned_;
  }
  gap.unit = unit;
  if (!known_) {
    expect_after(sequence, records, whole, unit);
    return gap;
  }
  const std::int64_t ahead = std::int32_t(sequence - next_);
  const std::uint32_t step = unit == SequenceUnit::kRecords ? records : 1;
  if (ahead >= 0 && ahead <= kMostLost) {
    gap.lost = std::uint32_t(ahead);
  } else if (ahead < 0 && -ahead <= kMostOvertaken && sequence != 0) {
    late_run_ = late_run_ > 0 && sequence == late_next_ ? late_run_ + 1 : 1;
    late_next_ = sequence + step;
    if (late_run_ < kLateRun) {
      gap.reordered = true;
      return gap;
    }
    gap.restarted = true;
  } else {
    gap.restarted = true;
  }
  expect_after(sequence, records, whole, unit);
  return gap;
}

}  // namespace outlierd::ingest
