#pragma once
// Longest-prefix match over IPv4 and IPv6: an address gives the value of the most specific prefix
// that holds it. A trie that takes sixteen bits at its root and eight bits below. A chunk of 256
// slots is one cache line, where the value changes at most twenty times: the slots at which it does
// and the values between; else it has a value for each slot. Either way a lookup reads one line of
// it.
//
// Immutable once built: any number of threads may look up. Half a million prefixes take some
// megabytes. find_all() overlaps the waits for memory of many lookups.

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <vector>

#include "core/aligned.h"
#include "core/traffic/flow_record.h"

namespace outlierd {

struct PrefixValue {
  IpAddress prefix;  // bits beyond the length do not matter
  std::uint8_t length = 0;
  std::uint32_t value = 0;  // below PrefixMap::kNone
};

class PrefixMap {
 public:
  static constexpr std::uint32_t kNone = 0x7fff;

  PrefixMap() = default;
  // Of a prefix given twice the later counts.
  explicit PrefixMap(std::vector<PrefixValue> prefixes);

  std::uint32_t find(const IpAddress& address) const {
    std::uint32_t out = kNone;
    find_all(
        1, [&](std::size_t) -> const IpAddress& { return address; }, &out);
    return out;
  }

  // out[k] = find(of(k)) for k < count, count at most kBatch; of(k) gives a const IpAddress&.
  static constexpr std::size_t kBatch = 64;
  template <class AddressOf>
  void find_all(std::size_t count, AddressOf of, std::uint32_t* out) const;

  bool empty() const { return root4_.empty() && root6_.empty(); }
  std::size_t bytes() const;

 private:
  // Of a root's slot, and of what leads to a chunk: the rest is its first line.
  static constexpr std::uint32_t kChunk = 0x80000000, kDense = 0x40000000;
  // Of an entry: the rest is where in its chunk stands what leads to the chunk below.
  static constexpr std::uint16_t kBelow = 0x8000;
  // A chunk in units of two bytes. Sparse: twenty bytes, the slots at which the value changes (255
  // after the last), two of nothing, 21 entries. Dense: 256 entries. Then what leads to chunks
  // below.
  static constexpr std::size_t kLineUnits = 32, kChanges = 20, kEntries = 11, kSlots = 256;

  static std::size_t slot_of(const IpAddress& address) {
    return std::size_t(address.bytes[0]) << 8 | address.bytes[1];
  }
  const std::uint16_t* chunk_at(std::uint32_t way) const {
    return units_.data() + kLineUnits * (way & ~(kChunk | kDense));
  }
  // How many of the changes are at or before the slot.
  static std::size_t changes_upto(const std::uint16_t* chunk, std::uint8_t slot) {
    using Bytes = std::uint8_t __attribute__((vector_size(16)));
    constexpr Bytes kOnes = {1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1}, kFour = {1, 1, 1, 1};
    Bytes first, second;
    std::memcpy(&first, chunk, sizeof first);
    std::memcpy(&second, chunk + 8, sizeof second);
    const Bytes passed = (Bytes(first <= slot) & kOnes) + (Bytes(second <= slot) & kFour);
    std::uint64_t halves[2];
    std::memcpy(halves, &passed, sizeof halves);
    return std::size_t((halves[0] + halves[1]) * 0x0101010101010101 >> 56);
  }
  std::uint16_t entry_at(std::uint32_t way, std::uint8_t slot) const {
    const std::uint16_t* chunk = chunk_at(way);
    return way & kDense ? chunk[slot] : chunk[kEntries + changes_upto(chunk, slot)];
  }
  std::uint32_t descend(std::uint32_t way, const IpAddress& address) const {
    for (std::size_t byte = 2;; ++byte) {
      const std::uint16_t entry = entry_at(way, address.bytes[byte]);
      if (!(entry & kBelow)) return entry;
      std::memcpy(&way, chunk_at(way) + (entry & ~kBelow), sizeof way);
    }
  }

  class Builder;

  std::vector<std::uint32_t> root4_, root6_;  // 65,536 slots, or none: a value or a chunk
  std::vector<std::uint16_t, CacheLineAllocator<std::uint16_t>> units_;  // chunks
};

template <class AddressOf>
void PrefixMap::find_all(std::size_t count, AddressOf of, std::uint32_t* out) const {
  const bool four = !root4_.empty(), six = !root6_.empty();
  for (std::size_t k = 0; k < count; ++k) {
    const IpAddress& address = of(k);
    out[k] = address.family == 4 && four  ? root4_[slot_of(address)]
             : address.family == 6 && six ? root6_[slot_of(address)]
                                          : kNone;
    if (out[k] & kChunk)
      __builtin_prefetch(chunk_at(out[k]) + (out[k] & kDense ? address.bytes[2] : 0));
  }
  for (std::size_t k = 0; k < count; ++k)
    if (out[k] & kChunk) out[k] = descend(out[k], of(k));
}

}  // namespace outlierd
