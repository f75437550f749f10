#pragma once
// Data records of a compiled template into flow records, and options records into what is known of
// a domain. Shared by NetFlow v9 and IPFIX.

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "daemon/ingest/flow/exporter_state.h"
#include "daemon/ingest/flow/flow_batch.h"

namespace outlierd::ingest {

// The clock of a datagram, to turn milliseconds since the exporter started into time.
struct ExporterTime {
  std::int64_t export_time = -1;
  std::uint32_t uptime = 0;
  bool has_uptime = false;
};

// Where each field of one record of variable length lies; reused.
struct FieldPlaces {
  std::vector<std::uint32_t> offsets, lengths;

  // The record's length, or 0 if it is cut off.
  std::size_t locate(const FlowTemplate& made, std::span<const std::byte> bytes);
};

struct SetOutcome {
  std::uint32_t records = 0;  // flow records or not
  bool cut_off = false;       // a field reaches beyond the set
};

// `rate`: of records that say nothing themselves.
SetOutcome decode_records(const FlowTemplate& made, std::span<const std::byte> set,
                          const ExporterTime& time, const Domain& domain, std::uint32_t rate,
                          FieldPlaces& places, FlowBatch& out);

SetOutcome decode_options(const FlowTemplate& made, std::span<const std::byte> set,
                          ExporterState& state, Domain& domain, FieldPlaces& places);

}  // namespace outlierd::ingest
