#include "daemon/ingest/flow/flow_json.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <array>
#include <cstring>
#include <utility>

#include "daemon/ingest/flow/json_dialects.h"
#include "daemon/ingest/flow/json_values.h"
#include "daemon/ingest/flow/vflow_json.h"

namespace outlierd::ingest {
namespace {

namespace dom = simdjson::dom;

static_assert(FlowJsonDecoder::kPadding >= simdjson::SIMDJSON_PADDING);

std::optional<std::uint64_t> number_of(dom::element value) {
  std::uint64_t number = 0;
  if (value.get_uint64().get(number) == simdjson::SUCCESS) return number;
  std::string_view text;
  if (value.get_string().get(text) == simdjson::SUCCESS) return parse_whole_number(text);
  return std::nullopt;
}

template <class Member>
const char* put_number(dom::element value, std::byte* out) {
  const auto number = number_of(value);
  if (!number) return "not a whole number";
  if (*number > std::numeric_limits<Member>::max()) return "too large";
  const auto member = Member(*number);
  std::memcpy(out, &member, sizeof member);
  return nullptr;
}

const char* put_address(std::string_view text, IpAddress& out) {
  if (text.empty()) return nullptr;  // not known
  const auto address = parse_address(text);
  if (!address) return "not an address";
  out = *address;
  return nullptr;
}

const char* put_prefix_length(std::string_view text, std::uint8_t& out) {
  if (text.empty()) return nullptr;
  const std::size_t slash = text.find('/');
  const auto length =
      slash == std::string_view::npos ? std::nullopt : parse_whole_number(text.substr(slash + 1));
  if (!length || *length > 128) return "not a prefix";
  out = std::uint8_t(*length);
  return nullptr;
}

template <class Member>
Member& member_at(FlowRecord& record, std::uint16_t target) {
  return *reinterpret_cast<Member*>(reinterpret_cast<std::byte*>(&record) + target);
}

// What is wrong with a text where a text is wanted; a number is fine for a protocol.
const char* put_text(const JsonKey& key, dom::element value, FlowRecord& out) {
  std::string_view text;
  if (value.get_string().get(text) != simdjson::SUCCESS) {
    if (key.kind == JsonKind::kProtocolName)
      return put_number<std::uint8_t>(value, reinterpret_cast<std::byte*>(&out) + key.target);
    return "not a string";
  }
  if (key.kind == JsonKind::kAddress)
    return put_address(text, member_at<IpAddress>(out, key.target));
  if (key.kind == JsonKind::kPrefixLength)
    return put_prefix_length(text, member_at<std::uint8_t>(out, key.target));
  if (key.kind == JsonKind::kProtocolName) {
    member_at<std::uint8_t>(out, key.target) = parse_protocol(text);
    return nullptr;
  }
  const auto time = parse_milliseconds(text);
  if (!time) return "not a time";
  member_at<std::int64_t>(out, key.target) = *time;
  return nullptr;
}

const char* put_nanoseconds(dom::element value, std::int64_t& out) {
  const auto number = number_of(value);
  if (!number) return "not a whole number";
  if (*number != 0) out = std::int64_t(*number / 1000000);
  return nullptr;
}

const char* put_direction(dom::element value, FlowDirection& out) {
  const auto number = number_of(value);
  if (!number || *number > 1) return "must be 0 or 1";
  out = *number == 0 ? FlowDirection::kIngress : FlowDirection::kEgress;
  return nullptr;
}

const char* put_batch_fact(const JsonKey& key, dom::element value, FlowBatch& out) {
  if (key.kind == JsonKind::kExporter) {
    std::string_view text;
    if (value.get_string().get(text) != simdjson::SUCCESS) return "not a string";
    return put_address(text, out.exporter);
  }
  const auto number = number_of(value);
  if (!number) return "not a whole number";
  if (key.kind == JsonKind::kDomain) {
    out.domain = std::uint32_t(*number);
  } else {
    out.sequence = std::uint32_t(*number);
    out.has_sequence = true;
  }
  return nullptr;
}

using Ranked = std::array<FlowRecord, kJsonRanks>;

const char* put(const JsonKey& key, dom::element value, Ranked& ranked, FlowBatch& out) {
  if (value.is_null()) return nullptr;
  FlowRecord& record = ranked[key.rank];
  std::byte* target = reinterpret_cast<std::byte*>(&record) + key.target;
  switch (key.kind) {
    case JsonKind::kNumber8:
      return put_number<std::uint8_t>(value, target);
    case JsonKind::kNumber16:
      return put_number<std::uint16_t>(value, target);
    case JsonKind::kNumber32:
      return put_number<std::uint32_t>(value, target);
    case JsonKind::kNumber64:
      return put_number<std::uint64_t>(value, target);
    case JsonKind::kNanoseconds:
      return put_nanoseconds(value, member_at<std::int64_t>(record, key.target));
    case JsonKind::kDirection:
      return put_direction(value, member_at<FlowDirection>(record, key.target));
    case JsonKind::kExporter:
    case JsonKind::kDomain:
    case JsonKind::kSequence:
      return put_batch_fact(key, value, out);
    default:
      return put_text(key, value, record);
  }
}

// The first rank, completed from the others.
FlowRecord merged(const Ranked& ranked) {
  FlowRecord record = ranked[0];
  for (const FlowRecord& other : ranked) {
    if (record.source.family == 0) record.source = other.source;
    if (record.destination.family == 0) record.destination = other.destination;
    if (record.start < 0) record.start = other.start;
    if (record.end < 0) record.end = other.end;
  }
  if (record.end < 0) record.end = record.start;
  return record;
}

bool is_marker(dom::object object) {
  std::string_view type;
  return object.at_key("event_type").get_string().get(type) == simdjson::SUCCESS &&
         (type == "purge_init" || type == "purge_close");
}

}  // namespace

struct FlowJsonDecoder::State {
  dom::parser parser;
  VflowReader vflow;
  std::string problem;

  FlowRefusal refuse(FlowRefusal reason, std::string text, FlowBatch& out) {
    problem = std::move(text);
    out.records.clear();
    return out.refusal = reason;
  }

  FlowRefusal read_row(dom::object object, FlowBatch& out) {
    if (out.protocol == FlowProtocol::kPmacct && is_marker(object)) return FlowRefusal::kNone;
    Ranked ranked;
    bool counts = false;
    for (const auto& [name, value] : object)
      for (const JsonKey& key : keys_of(out.protocol)) {
        if (key.key != name) continue;
        if (const char* wrong = put(key, value, ranked, out))
          return refuse(FlowRefusal::kBadField, fmt::format("{}: {}", name, wrong), out);
        counts = counts ||
                 (key.kind == JsonKind::kNumber64 && key.target != offsetof(FlowRecord, flows));
        break;
      }
    if (!counts) {
      ++out.records_ignored;
      return FlowRefusal::kNone;
    }
    FlowRecord record = merged(ranked);
    if (out.protocol == FlowProtocol::kNfdump) {
      record.sampling_rate = 1;  // scaled already
      // nfdump 1.7.1 has the two the wrong way round in IPFIX that counts from the start of the
      // exporter.
      if (record.start > record.end) std::swap(record.start, record.end);
    }
    out.records.push_back(record);
    return FlowRefusal::kNone;
  }
};

FlowJsonDecoder::FlowJsonDecoder() : state_(std::make_unique<State>()) {}
FlowJsonDecoder::~FlowJsonDecoder() = default;
FlowJsonDecoder::FlowJsonDecoder(FlowJsonDecoder&&) noexcept = default;
FlowJsonDecoder& FlowJsonDecoder::operator=(FlowJsonDecoder&&) noexcept = default;

FlowRefusal FlowJsonDecoder::decode(std::string_view line, FlowBatch& out) {
  out.clear();
  state_->problem.clear();
  dom::element document;
  dom::object object;
  if (const auto error = state_->parser.parse(line.data(), line.size(), false).get(document))
    return state_->refuse(FlowRefusal::kNotJson, simdjson::error_message(error), out);
  if (document.get_object().get(object) != simdjson::SUCCESS)
    return state_->refuse(FlowRefusal::kNotJson, "not an object", out);
  for (const auto& [key, value] : object)
    if (out.protocol = dialect_of(key); out.protocol != FlowProtocol::kUnknown) break;
  if (out.protocol == FlowProtocol::kUnknown)
    return state_->refuse(FlowRefusal::kUnknownDialect,
                          "none of the keys of pmacct, goflow2, nfdump or vFlow", out);
  if (out.protocol != FlowProtocol::kVflow) return state_->read_row(object, out);
  if (auto problem = state_->vflow.read(object, out))
    return state_->refuse(FlowRefusal::kBadField, *problem, out);
  return FlowRefusal::kNone;
}

const std::string& FlowJsonDecoder::problem() const { return state_->problem; }

}  // namespace outlierd::ingest
