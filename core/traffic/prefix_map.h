#pragma once
// Longest-prefix match over IPv4 and IPv6: an address gives the value of the most specific prefix
// that holds it. A trie that takes sixteen bits at its root and eight bits below. A chunk of 256
// slots is a run of cache lines: a bit for each slot where the value changes, then the values
// between the changes; that of most chunks of a routing table is in the line of the bits.
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
  static constexpr std::uint32_t kChunk = 0x80000000;  // of a root's slot: the rest is a line
  // Of an entry: the rest is where in its chunk the first line of the chunk below it is written.
  static constexpr std::uint16_t kBelow = 0x8000;
  // A chunk in units of two bytes: 256 bits, bit i saying that slot i differs from slot i - 1 (bit
  // 0 is set); four bytes, the changes before each 64 slots; entries; lines of the chunks below.
  static constexpr std::size_t kLineUnits = 32, kBefore = 16, kEntries = 18;

  static std::size_t slot_of(const IpAddress& address) {
    return std::size_t(address.bytes[0]) << 8 | address.bytes[1];
  }
  // Without an instruction that not every machine has.
  static std::uint32_t count_bits(std::uint64_t x) {
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return std::uint32_t(x * 0x0101010101010101 >> 56);
  }
  const std::uint16_t* chunk_at(std::uint32_t slot) const {
    return units_.data() + kLineUnits * (slot & ~kChunk);
  }
  static const std::uint16_t* entry_of(const std::uint16_t* chunk, std::uint8_t slot) {
    std::uint64_t changes;
    std::memcpy(&changes, chunk + (slot >> 6) * 4, sizeof changes);
    const auto* before = reinterpret_cast<const std::uint8_t*>(chunk + kBefore);
    return chunk + kEntries - 1 + before[slot >> 6] + count_bits(changes << (63 - (slot & 63)));
  }
  std::uint32_t descend(const std::uint16_t* chunk, std::uint16_t entry, const IpAddress& address,
                        std::size_t byte) const {
    for (; entry & kBelow; ++byte) {
      std::uint32_t line;
      std::memcpy(&line, chunk + (entry & ~kBelow), sizeof line);
      chunk = chunk_at(line);
      entry = *entry_of(chunk, address.bytes[byte]);
    }
    return entry;
  }

  class Builder;

  std::vector<std::uint32_t> root4_, root6_;  // 65,536 slots, or none: a value or a chunk
  std::vector<std::uint16_t, CacheLineAllocator<std::uint16_t>> units_;  // chunks
};

template <class AddressOf>
void PrefixMap::find_all(std::size_t count, AddressOf of, std::uint32_t* out) const {
  const std::uint16_t* entries[kBatch];
  const bool four = !root4_.empty(), six = !root6_.empty();
  for (std::size_t k = 0; k < count; ++k) {
    const IpAddress& address = of(k);
    out[k] = address.family == 4 && four  ? root4_[slot_of(address)]
             : address.family == 6 && six ? root6_[slot_of(address)]
                                          : kNone;
    if (out[k] & kChunk) __builtin_prefetch(chunk_at(out[k]));
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (!(out[k] & kChunk)) continue;
    entries[k] = entry_of(chunk_at(out[k]), of(k).bytes[2]);
    __builtin_prefetch(entries[k]);
  }
  for (std::size_t k = 0; k < count; ++k)
    if (out[k] & kChunk) out[k] = descend(chunk_at(out[k]), *entries[k], of(k), 3);
}

}  // namespace outlierd
