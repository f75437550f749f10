#pragma once
// CRC-32C (Castagnoli), in pieces: crc32c(b, crc32c(a)) is that of a followed by b. Uses the
// processor's instruction where there is one.

#include <cstddef>
#include <cstdint>
#include <span>

namespace outlierd::store {

std::uint32_t crc32c(std::span<const std::byte> bytes, std::uint32_t before = 0);
// The same by table, for machines without the instruction.
std::uint32_t crc32c_portable(std::span<const std::byte> bytes, std::uint32_t before = 0);

}  // namespace outlierd::store
