#pragma once
// What each cell does at each half hour of the local day (MODEL section 6 step 3): the
// mean over past days, 48 slots. It says nothing of a cell before two days of it were seen.

#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/lanes.h"
#include "core/detect/state_stream.h"

namespace outlierd::detect {

class DailyProfile {
 public:
  static constexpr int kSlots = 48;

  explicit DailyProfile(std::size_t cells);

  // Where in the day the next value() stands. The slot just left, if any, joins the profile;
  // returns true when it did and cells may have become active().
  void enter(int second_of_day);
  bool active(std::size_t cell) const { return slots_seen_[cell] >= 2 * kSlots; }
  // Of an active cell, else 0; between the middles of slots on a straight line.
  float value(std::size_t cell) const {
    return active(cell) ? (1.0f - share_) * lengthened(slots_[left_][cell]) +
                              share_ * lengthened(slots_[right_][cell])
                        : 0.0f;
  }
  template <class At>
  Lanes value_at(At at) const {
    const LaneMask active = load_bytes(slots_seen_.data(), at) >= 2 * kSlots;
    const Lanes none = {};
    if (!any(active)) return none;
    return choose(active,
                  (1.0f - share_) * load_shortened(slots_[left_].data(), at) +
                      share_ * load_shortened(slots_[right_].data(), at),
                  none);
  }
  // Cells that became active in the last enter().
  const std::vector<std::uint32_t>& activated() const { return activated_; }
  void learn(std::size_t cell, float value) {
    learn_at(FewCells{cell, 1}, splat(value), LaneMask{-1});
  }
  // Of the cells in the mask.
  template <class At>
  void learn_at(At at, Lanes value, LaneMask learned) {
    const Lanes sum = load(sum_.data(), at);
    const LaneMask count = load_bytes(count_.data(), at);
    store(sum_.data(), at, choose(learned, sum + value, sum));
    store_bytes(count_.data(), at, count - (learned & (count < 255)));
  }
  // All values held, by a function of a value.
  template <class F>
  void reexpress(F f) {
    for (auto& slot : slots_)
      for (std::uint16_t& value : slot)
        if (value != kNever) value = shortened(f(lengthened(value)));
    for (std::size_t cell = 0; cell < sum_.size(); ++cell)
      if (count_[cell] > 0) sum_[cell] = f(sum_[cell] / count_[cell]) * count_[cell];
  }
  void exchange(StateStream& stream);

 private:
  static constexpr std::uint16_t kNever = 0xffff;  // no shortened() number

  void close_slot();
  void read_wide(StateStream& stream);
  void set_place(int second_of_day);

  std::int32_t slot_ = -1;  // that is being summed
  std::size_t left_ = 0, right_ = 0;
  float share_ = 0.0f;
  std::vector<std::vector<std::uint16_t>> slots_;  // shortened(): they are most of a cell's state
  std::vector<float> sum_;
  std::vector<std::uint8_t> count_, slots_seen_;
  std::vector<std::uint32_t> activated_;
};

}  // namespace outlierd::detect
