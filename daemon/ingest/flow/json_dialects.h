#pragma once
// Which keys each collector writes, and what they mean. A member may be told by several keys: the
// one of the lowest rank that is given counts.

#include <cstdint>
#include <span>
#include <string_view>

#include "daemon/ingest/flow/flow_batch.h"

namespace outlierd::ingest {

enum class JsonKind : std::uint8_t {
  kNumber8,
  kNumber16,
  kNumber32,
  kNumber64,
  kAddress,
  kPrefixLength,  // of "10.0.0.0/8"
  kTimeText,
  kNanoseconds,
  kProtocolName,
  kDirection,  // 0 in, 1 out
  kExporter,   // the rest belong to the batch
  kDomain,
  kSequence
};

struct JsonKey {
  std::string_view key;
  JsonKind kind;
  std::uint16_t target = 0;  // offset in FlowRecord
  std::uint8_t rank = 0;
};
inline constexpr std::size_t kJsonRanks = 3;

std::span<const JsonKey> keys_of(FlowProtocol dialect);
// Which collector writes this key and no other does; kUnknown for keys that several write.
FlowProtocol dialect_of(std::string_view key);

}  // namespace outlierd::ingest
