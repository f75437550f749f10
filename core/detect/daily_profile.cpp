#include "core/detect/daily_profile.h"

#include <algorithm>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr float kWeight = 0.3f;  // of a new day
constexpr int kSlotSeconds = 86400 / DailyProfile::kSlots;

}  // namespace

DailyProfile::DailyProfile(std::size_t cells)
    : slots_(kSlots, std::vector<std::uint16_t>(cells, kNever)),
      sum_(cells, 0.0f),
      count_(cells, 0),
      slots_seen_(cells, 0) {}

void DailyProfile::set_place(int second_of_day) {
  const float at = float(second_of_day) / kSlotSeconds - 0.5f;
  const float below = std::floor(at);
  share_ = at - below;
  left_ = std::size_t((int(below) + kSlots) % kSlots);
  right_ = (left_ + 1) % kSlots;
}

void DailyProfile::enter(int second_of_day) {
  activated_.clear();
  const std::int32_t slot = second_of_day / kSlotSeconds % kSlots;
  if (slot != slot_ && slot_ >= 0) close_slot();
  slot_ = slot;
  set_place(second_of_day);
}

void DailyProfile::close_slot() {
  std::vector<std::uint16_t>& profile = slots_[std::size_t(slot_)];
  for (std::size_t cell = 0; cell < sum_.size(); ++cell) {
    if (count_[cell] == 0) continue;
    const float mean = sum_[cell] / float(count_[cell]);
    const float before = profile[cell] == kNever ? mean : lengthened(profile[cell]);
    profile[cell] = shortened(before + kWeight * (mean - before));
    sum_[cell] = 0.0f;
    count_[cell] = 0;
    if (slots_seen_[cell] >= 2 * kSlots || ++slots_seen_[cell] < 2 * kSlots) continue;
    // Slots it was never seen in have what the others have on average.
    float total = 0.0f, known = 0.0f;
    for (const auto& other : slots_)
      if (other[cell] != kNever) total += lengthened(other[cell]), known += 1.0f;
    for (auto& other : slots_)
      if (other[cell] == kNever) other[cell] = shortened(total / known);
    activated_.push_back(std::uint32_t(cell));
  }
}

// Version 2 has them as floats, negative where never seen.
void DailyProfile::read_wide(StateStream& stream) {
  for (auto& slot : slots_) {
    std::vector<float> wide(slot.size(), -1.0f);
    stream.per_cell(wide);
    for (std::size_t cell = 0; cell < slot.size(); ++cell)
      slot[cell] = wide[cell] < 0.0f ? kNever : shortened(wide[cell]);
  }
}

void DailyProfile::exchange(StateStream& stream) {
  stream.number(slot_, -1, kSlots - 1);
  if (stream.version() < 3) {
    read_wide(stream);
  } else {
    for (auto& slot : slots_) stream.per_cell(slot);
  }
  stream.per_cell(sum_);
  stream.per_cell(count_);
  stream.per_cell(slots_seen_);
}

}  // namespace outlierd::detect
