#include "daemon/ingest/flow/vflow_json.h"

#include "daemon/ingest/flow/json_values.h"

namespace outlierd::ingest {
namespace {

namespace dom = simdjson::dom;

constexpr std::size_t kMostFields = 2048;

std::uint64_t number_at(dom::object object, std::string_view key) {
  std::uint64_t value = 0;
  return object.at_key(key).get_uint64().get(value) == simdjson::SUCCESS ? value : 0;
}

void append_number(std::uint64_t value, std::vector<std::byte>& bytes) {
  for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(std::byte(value >> shift & 0xff));
}

// The value's bytes behind those there are; how many. Texts that are no number or address have
// none.
std::size_t append_value(dom::element value, std::vector<std::byte>& bytes) {
  const std::size_t before = bytes.size();
  std::uint64_t number = 0;
  std::string_view text;
  if (value.get_uint64().get(number) == simdjson::SUCCESS) {
    append_number(number, bytes);
  } else if (value.get_string().get(text) == simdjson::SUCCESS) {
    if (const auto whole = parse_whole_number(text)) {
      append_number(*whole, bytes);
    } else if (const auto address = parse_address(text)) {
      const auto* raw = reinterpret_cast<const std::byte*>(address->bytes.data());
      bytes.insert(bytes.end(), raw, raw + (address->family == 6 ? 16 : 4));
    }
  }
  return bytes.size() - before;
}

}  // namespace

std::optional<std::string> VflowReader::read_header(dom::object header, FlowBatch& out) {
  const std::uint64_t version = number_at(header, "Version");
  if (version != 9 && version != 10) return "Header.Version: must be 9 or 10";
  const bool nine = version == 9;
  const std::uint64_t seconds = number_at(header, nine ? "UNIXSecs" : "ExportTime");
  if (seconds > 0xffffffff) return "Header: the export time is out of range";
  out.export_time = seconds == 0 ? -1 : std::int64_t(seconds) * 1000;
  out.sequence = std::uint32_t(number_at(header, nine ? "SeqNum" : "SequenceNo"));
  out.domain = std::uint32_t(number_at(header, nine ? "SrcID" : "DomainID"));
  out.uptime = std::uint32_t(number_at(header, "SysUpTime"));
  out.has_sequence = true;
  out.has_uptime = nine;
  time_ = {out.export_time, out.uptime, nine && out.export_time >= 0};
  return std::nullopt;
}

std::optional<std::string> VflowReader::read_record(dom::array elements, FlowBatch& out) {
  fields_.clear();
  bytes_.clear();
  for (const dom::element element : elements) {
    dom::object field;
    std::uint64_t number = 0;
    dom::element value;
    if (element.get_object().get(field) != simdjson::SUCCESS ||
        field.at_key("I").get_uint64().get(number) != simdjson::SUCCESS || number > 65535 ||
        field.at_key("V").get(value) != simdjson::SUCCESS || fields_.size() >= kMostFields)
      return "DataSets: an element must be {\"I\": number, \"V\": value}";
    const std::size_t length = append_value(value, bytes_);
    fields_.push_back(
        {std::uint16_t(number), std::uint16_t(length), std::uint32_t(number_at(field, "E"))});
  }
  if (fields_ != made_.fields || made_.record_length == 0) {
    made_ = FlowTemplate{};
    made_.fields = fields_;
    if (!made_.compile()) {
      made_ = FlowTemplate{};
      ++out.records_ignored;
      return std::nullopt;
    }
  }
  static const Domain kNothingKnown{DomainKey{}};
  decode_records(made_, bytes_, time_, kNothingKnown, 0, places_, out);
  return std::nullopt;
}

std::optional<std::string> VflowReader::read(dom::object message, FlowBatch& out) {
  std::string_view agent;
  if (message.at_key("AgentID").get_string().get(agent) != simdjson::SUCCESS)
    return "AgentID: must be a string";
  const auto exporter = parse_address(agent);
  if (!exporter) return "AgentID: not an address";
  out.exporter = *exporter;
  dom::object header;
  if (message.at_key("Header").get_object().get(header) != simdjson::SUCCESS)
    return "Header: must be an object";
  if (auto problem = read_header(header, out)) return problem;
  dom::array sets;
  if (message.at_key("DataSets").get_array().get(sets) != simdjson::SUCCESS)
    return "DataSets: must be a list of lists";
  for (const dom::element set : sets) {
    dom::array elements;
    if (set.get_array().get(elements) != simdjson::SUCCESS)
      return "DataSets: must be a list of lists";
    if (auto problem = read_record(elements, out)) return problem;
  }
  return std::nullopt;
}

}  // namespace outlierd::ingest
