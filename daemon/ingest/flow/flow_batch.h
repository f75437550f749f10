#pragma once
// What one datagram (or one line of JSON) said: its flow records, the facts of its header, and what
// could not be used, counted. The caller owns a batch and reuses it: decoding into a warm one
// allocates nothing.

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "core/traffic/flow_record.h"

namespace outlierd::ingest {

enum class FlowProtocol : std::uint8_t {
  kUnknown,
  kNetflow5,
  kNetflow9,
  kIpfix,
  kSflow5,
  kPmacct,
  kGoflow2,
  kNfdump,
  kVflow
};
inline constexpr int kFlowProtocols = 9;
std::string_view name_of(FlowProtocol protocol);  // "netflow5", ..., for metrics and texts

// Why a datagram or line was refused as a whole, or the rest of it behind a fault was.
enum class FlowRefusal : std::uint8_t {
  kNone,
  kTooShort,        // ends inside a header
  kUnknownVersion,  // none of the protocols
  kBadLength,       // a length or count in it does not fit the datagram
  kBadTemplate,     // a template that no record can follow: without length, too many fields
  kNotJson,
  kUnknownDialect,  // JSON of none of the collectors
  kBadField         // a value of JSON that is not what its key promises
};
inline constexpr int kFlowRefusals = 8;
std::string_view name_of(FlowRefusal refusal);  // "bad_length", ..., for metrics
std::string_view text_of(FlowRefusal refusal);  // a sentence for an operator

struct FlowBatch {
  std::vector<FlowRecord> records;

  FlowProtocol protocol = FlowProtocol::kUnknown;
  FlowRefusal refusal = FlowRefusal::kNone;
  IpAddress exporter;          // who sent it: the datagram's source, or whom the line names
  IpAddress agent;             // sFlow: what the exporter calls itself; else none
  std::uint32_t domain = 0;    // observation domain, source id, engine, sub-agent
  std::uint32_t sequence = 0;  // as sent
  bool has_sequence = false, has_uptime = false;
  std::uint32_t uptime = 0;       // milliseconds since the exporter started; wraps
  std::int64_t export_time = -1;  // milliseconds since the epoch, the exporter's clock; -1: none

  // By the sequence number. It counts flows in v5, data records in IPFIX, datagrams in v9 and
  // sFlow: for the last two, lost_records is lost times the records a datagram had on average.
  std::uint64_t lost = 0;           // missing before this datagram, in the protocol's unit
  std::uint64_t lost_records = 0;   // the same in flow records, as well as can be said
  bool reordered = false;           // came after a later one: it had been counted as lost,
  std::uint64_t found_records = 0;  // by so many records
  bool restarted = false;           // the exporter began anew: nothing can be said about loss

  // What was not a flow record.
  std::uint32_t templates = 0;  // defined, or defined again
  std::uint32_t templates_withdrawn = 0;
  std::uint32_t templates_refused = 0;
  std::uint32_t options_records = 0;
  std::uint32_t sets_without_template = 0;  // data that came before its template
  std::uint32_t records_ignored = 0;        // neither bytes nor packets (events), not IP (sFlow)
  std::uint32_t samples_ignored = 0;        // sFlow: counters, vendors' own

  // Empties everything, keeping the memory.
  void clear();
  // So many more, blank but for their rate.
  FlowRecord* append(std::size_t count, std::uint32_t sampling_rate);
};

}  // namespace outlierd::ingest
