#pragma once
// Longest-prefix match over IPv4 and IPv6: an address gives the value of the most specific prefix
// that holds it. A trie that takes sixteen bits at its root and eight bits below; a chunk of 256
// slots is one cache line of bits that mark where the value changes, and an array of the changes.
//
// Immutable once built: any number of threads may look up. Half a million prefixes take some
// megabytes. find_all() overlaps the waits for memory of many lookups.

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/traffic/flow_record.h"

namespace outlierd {

struct PrefixValue {
  IpAddress prefix;  // bits beyond the length do not matter
  std::uint8_t length = 0;
  std::uint32_t value = 0;  // below PrefixMap::kNone
};

class PrefixMap {
 public:
  static constexpr std::uint32_t kNone = 0x7fffffff;

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
  static constexpr std::uint32_t kChunk = 0x80000000;  // of an entry: the rest is a chunk's index

  struct alignas(64) Chunk {
    std::uint64_t changes[4] = {};  // bit i: slot i differs from slot i - 1; bit 0 is set
    std::uint16_t before[4] = {};   // changes in earlier words
    std::uint32_t first = 0;        // index of its first entry
  };

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
  static std::uint32_t position(const Chunk& chunk, std::uint8_t slot) {
    const std::uint64_t upto = chunk.changes[slot >> 6] << (63 - (slot & 63));
    return chunk.first + chunk.before[slot >> 6] + count_bits(upto) - 1;
  }
  std::uint32_t descend(std::uint32_t entry, const IpAddress& address, std::size_t byte) const {
    for (; entry & kChunk; ++byte)
      entry = entries_[position(chunks_[entry & ~kChunk], address.bytes[byte])];
    return entry;
  }

  class Builder;

  std::vector<std::uint32_t> root4_, root6_;  // 65,536 entries, or none
  std::vector<Chunk> chunks_;
  std::vector<std::uint32_t> entries_;
};

template <class AddressOf>
void PrefixMap::find_all(std::size_t count, AddressOf of, std::uint32_t* out) const {
  std::uint32_t at[kBatch];
  const bool four = !root4_.empty(), six = !root6_.empty();
  for (std::size_t k = 0; k < count; ++k) {
    const IpAddress& address = of(k);
    out[k] = address.family == 4 && four  ? root4_[slot_of(address)]
             : address.family == 6 && six ? root6_[slot_of(address)]
                                          : kNone;
    if (out[k] & kChunk) __builtin_prefetch(&chunks_[out[k] & ~kChunk]);
  }
  for (std::size_t k = 0; k < count; ++k) {
    if (!(out[k] & kChunk)) continue;
    at[k] = position(chunks_[out[k] & ~kChunk], of(k).bytes[2]);
    __builtin_prefetch(&entries_[at[k]]);
  }
  for (std::size_t k = 0; k < count; ++k)
    if (out[k] & kChunk) out[k] = descend(entries_[at[k]], of(k), 3);
}

}  // namespace outlierd
