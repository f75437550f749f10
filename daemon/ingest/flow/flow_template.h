#pragma once
// A template of NetFlow v9 or IPFIX, and what it compiles to: for each field that matters, where it
// is and what to do with it. Records of fixed length are then decoded a field at a time, over all
// records of a set, so that choosing what to do costs nothing per record.
//
// Of several fields for one thing (interfaces: 252, 10) the later operation wins where it is not
// zero; of counters (bytes: 23, 85, 1) only the best is read.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace outlierd::ingest {

inline constexpr std::uint16_t kVariableLength = 65535;
inline constexpr std::uint32_t kLongestRecord = 65535;

struct TemplateField {
  std::uint16_t element = 0;
  std::uint16_t length = 0;
  std::uint32_t enterprise = 0;

  bool operator==(const TemplateField&) const = default;
};

enum class Action : std::uint8_t {
  kNumber8,  // into a member of this many bits, from 1 to 8 bytes
  kNumber16,
  kNumber32,
  kNumber64,
  kAddress4,
  kAddress6,
  kDirection,
  kSeconds,
  kMilliseconds,
  kNtp,
  kUptime,     // milliseconds since the exporter started
  kFrame,      // the first bytes of a packet, from the Ethernet header on
  kPacket,     // the same, from the IP header on
  kSampler,    // from here on: what says the sampling rate, the better the later
  kRate,       // 1 in this many
  kSpacing,    // field: taken in a row, other_field: left out after them
  kPopulation  // field: taken, other_field: out of so many
};

struct Operation {
  Action action{};
  bool only_if_set = false;  // a zero does not overwrite what an earlier one found
  std::uint16_t target = 0;  // offset in FlowRecord
  std::uint16_t field = 0, other_field = 0;
  std::uint16_t length = 0, other_length = 0;
  std::uint32_t offset = 0, other_offset = 0;  // of a record of fixed length
};

struct FlowTemplate {
  std::uint16_t id = 0;
  std::uint16_t scope_fields = 0;
  bool options = false;
  std::vector<TemplateField> fields;

  // Compiled.
  bool variable = false;                 // some field has no fixed length
  bool gives_flows = false;              // its records count bytes or packets
  std::uint32_t record_length = 0;       // the least, if variable
  std::int32_t system_start_field = -1;  // element 160
  std::size_t first_sampling_operation = 0;
  std::vector<Operation> operations;
  std::uint64_t last_used = 0;

  // False when no record can follow it: no length, or one beyond any datagram.
  [[nodiscard]] bool compile();
  std::size_t memory() const;
};

}  // namespace outlierd::ingest
