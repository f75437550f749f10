#include "core/traffic/prefix_map.h"

#include <algorithm>
#include <array>

namespace outlierd {
namespace {

constexpr std::size_t kRootSlots = 65536;

void clear_beyond(IpAddress& address, int length) {
  for (int byte = 0; byte < 16; ++byte) {
    const int kept = std::clamp(length - 8 * byte, 0, 8);
    address.bytes[std::size_t(byte)] &= std::uint8_t(0xff << (8 - kept));
  }
}

// Outer prefixes before those inside them.
bool comes_before(const PrefixValue& a, const PrefixValue& b) {
  if (a.prefix.family != b.prefix.family) return a.prefix.family < b.prefix.family;
  if (a.prefix.bytes != b.prefix.bytes) return a.prefix.bytes < b.prefix.bytes;
  return a.length < b.length;
}

}  // namespace

class PrefixMap::Builder {
 public:
  explicit Builder(PrefixMap& map) : map_(map) {}

  void root(std::span<const PrefixValue> prefixes, std::vector<std::uint32_t>& out) {
    if (prefixes.empty()) return;
    out.assign(kRootSlots, kNone);
    fill(prefixes, 0, 16, out);
  }

 private:
  // The slots of the bits from `depth` to `depth + width`; what is longer becomes chunks.
  void fill(std::span<const PrefixValue> prefixes, int depth, int width,
            std::span<std::uint32_t> slots) {
    const auto slot_at = [&](const PrefixValue& one) {
      const std::size_t byte = std::size_t(depth / 8);
      return width == 16 ? slot_of(one.prefix) : std::size_t(one.prefix.bytes[byte]);
    };
    for (const PrefixValue& one : prefixes) {
      if (one.length > depth + width) continue;
      const std::size_t first = slot_at(one);
      const std::size_t covered = std::size_t{1}
                                  << (depth + width - std::max<int>(one.length, depth));
      std::fill_n(slots.begin() + std::ptrdiff_t(first), covered, one.value);
    }
    for (std::size_t begin = 0; begin < prefixes.size();) {
      if (prefixes[begin].length <= depth + width) {
        ++begin;
        continue;
      }
      const std::size_t slot = slot_at(prefixes[begin]);
      std::size_t end = begin;
      while (end < prefixes.size() && prefixes[end].length > depth + width &&
             slot_at(prefixes[end]) == slot)
        ++end;
      slots[slot] = chunk(prefixes.subspan(begin, end - begin), depth + width, slots[slot]);
      begin = end;
    }
  }

  std::uint32_t chunk(std::span<const PrefixValue> prefixes, int depth, std::uint32_t outer) {
    std::array<std::uint32_t, kSlots> slots;
    slots.fill(outer);
    fill(prefixes, depth, 8, slots);
    std::vector<std::uint8_t> changes;
    for (std::size_t slot = 1; slot < kSlots; ++slot)
      if (slots[slot] != slots[slot - 1]) changes.push_back(std::uint8_t(slot));
    if (changes.size() > kChanges) return lay_out(slots, {}, kDense);
    std::vector<std::uint32_t> values = {slots[0]};
    for (std::uint8_t slot : changes) values.push_back(slots[slot]);
    values.resize(kChanges + 1, values.back());
    changes.resize(2 * kEntries, 255);
    return lay_out(values, changes, 0);
  }

  // What leads to the chunk.
  std::uint32_t lay_out(std::span<const std::uint32_t> values,
                        std::span<const std::uint8_t> changes, std::uint32_t kind) {
    std::vector<std::uint16_t> units(changes.size() / 2);
    std::copy(changes.begin(), changes.end(), reinterpret_cast<std::uint8_t*>(units.data()));
    std::size_t next = units.size() + values.size();
    for (std::uint32_t value : values) {
      units.push_back(std::uint16_t(value & kChunk ? kBelow | next : value));
      if (value & kChunk) next += 2;
    }
    for (std::uint32_t value : values) {
      if (!(value & kChunk)) continue;
      units.resize(units.size() + 2);
      std::memcpy(&units[units.size() - 2], &value, sizeof value);
    }
    const std::size_t begin = map_.units_.size();
    units.resize((units.size() + kLineUnits - 1) / kLineUnits * kLineUnits);
    map_.units_.insert(map_.units_.end(), units.begin(), units.end());
    return kChunk | kind | std::uint32_t(begin / kLineUnits);
  }

  PrefixMap& map_;
};

PrefixMap::PrefixMap(std::vector<PrefixValue> prefixes) {
  for (PrefixValue& one : prefixes) clear_beyond(one.prefix, one.length);
  std::stable_sort(prefixes.begin(), prefixes.end(), comes_before);
  const auto six = std::find_if(prefixes.begin(), prefixes.end(),
                                [](const PrefixValue& one) { return one.prefix.family == 6; });
  const auto fours = std::size_t(six - prefixes.begin());
  Builder builder(*this);
  builder.root(std::span(prefixes).first(fours), root4_);
  builder.root(std::span(prefixes).subspan(fours), root6_);
  units_.shrink_to_fit();
}

std::size_t PrefixMap::bytes() const {
  return (root4_.capacity() + root6_.capacity()) * sizeof(std::uint32_t) +
         units_.capacity() * sizeof(std::uint16_t);
}

}  // namespace outlierd
