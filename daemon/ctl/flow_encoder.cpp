#include "daemon/ctl/flow_encoder.h"

#include <algorithm>
#include <array>

namespace outlierd::ctl {
namespace {

constexpr std::uint16_t kTemplate = 300;
constexpr std::uint64_t kTemplateEvery = 20;  // datagrams

struct Field {
  std::uint16_t element;
  std::uint16_t bytes;
};
// 8 source, 12 destination, 1 bytes, 2 packets, 7/11 ports, 4 protocol, 61 direction,
// 10/14 interfaces, 16/17 AS, 34 sampling interval; then start and end.
constexpr std::array kFields = {
    Field{8, 4},  Field{12, 4}, Field{1, 8},  Field{2, 4},  Field{7, 2},  Field{11, 2}, Field{4, 1},
    Field{61, 1}, Field{10, 2}, Field{14, 2}, Field{16, 2}, Field{17, 2}, Field{34, 4}};
constexpr std::array kUptimes = {Field{22, 4}, Field{21, 4}};
constexpr std::array kMilliseconds = {Field{152, 8}, Field{153, 8}};

}  // namespace

std::optional<ExportProtocol> protocol_named(std::string_view name) {
  if (name == "netflow5" || name == "v5") return ExportProtocol::kNetflow5;
  if (name == "netflow9" || name == "v9") return ExportProtocol::kNetflow9;
  if (name == "ipfix") return ExportProtocol::kIpfix;
  if (name == "sflow") return ExportProtocol::kSflow;
  return std::nullopt;
}

void FlowEncoder::put(std::uint64_t value, int bytes) {
  for (int k = bytes - 1; k >= 0; --k) bytes_.push_back(std::byte(value >> (8 * k) & 0xff));
}

void FlowEncoder::put(const IpAddress& address) {
  for (std::size_t k = 0; k < 4; ++k) bytes_.push_back(std::byte(address.bytes[k]));
}

void FlowEncoder::set_length(std::size_t at, std::size_t length) {
  bytes_[at] = std::byte(length >> 8);
  bytes_[at + 1] = std::byte(length & 0xff);
}

std::span<const std::byte> FlowEncoder::encode(std::span<const FlowRecord> records,
                                               std::int64_t exported) {
  bytes_.clear();
  switch (protocol_) {
    case ExportProtocol::kNetflow5:
      netflow5(records, exported);
      break;
    case ExportProtocol::kNetflow9:
      netflow9(records, exported);
      break;
    case ExportProtocol::kIpfix:
      ipfix(records, exported);
      break;
    case ExportProtocol::kSflow:
      sflow(records, exported);
      break;
  }
  ++datagrams_;
  return bytes_;
}

void FlowEncoder::netflow5(std::span<const FlowRecord> records, std::int64_t exported) {
  put(5, 2);
  put(records.size(), 2);
  put(std::uint32_t(exported - booted_), 4);
  put(std::uint64_t(exported / 1000), 4);
  put(std::uint64_t(exported % 1000) * 1'000'000, 4);
  put(sequence_, 4);
  put(0, 1);
  put(domain_ & 0xff, 1);
  const std::uint32_t rate = records.empty() ? 1 : records[0].sampling_rate;
  put(1 << 14 | (rate & 0x3fff), 2);  // one packet in so many
  for (const FlowRecord& record : records) {
    put(record.source);
    put(record.destination);
    put(0, 4);  // next hop
    put(record.input_interface, 2);
    put(record.output_interface, 2);
    put(record.packets, 4);
    put(record.bytes, 4);
    put(std::uint32_t(record.start - booted_), 4);
    put(std::uint32_t(record.end - booted_), 4);
    put(record.source_port, 2);
    put(record.destination_port, 2);
    put(0, 1);
    put(record.tcp_flags, 1);
    put(record.protocol, 1);
    put(record.type_of_service, 1);
    put(record.source_as, 2);
    put(record.destination_as, 2);
    put(24 << 8 | 24, 2);  // prefix lengths
    put(0, 2);
  }
  sequence_ += std::uint32_t(records.size());
}

void FlowEncoder::put_template(std::uint16_t set) {
  const auto& times = protocol_ == ExportProtocol::kIpfix ? kMilliseconds : kUptimes;
  const std::size_t fields = kFields.size() + times.size();
  put(set, 2);
  put(8 + 4 * fields, 2);
  put(kTemplate, 2);
  put(fields, 2);
  for (const Field& field : kFields) put(std::uint64_t(field.element) << 16 | field.bytes, 4);
  for (const Field& field : times) put(std::uint64_t(field.element) << 16 | field.bytes, 4);
}

void FlowEncoder::put_record(const FlowRecord& record) {
  put(record.source);
  put(record.destination);
  put(record.bytes, 8);
  put(record.packets, 4);
  put(record.source_port, 2);
  put(record.destination_port, 2);
  put(record.protocol, 1);
  put(0, 1);  // ingress
  put(record.input_interface, 2);
  put(record.output_interface, 2);
  put(record.source_as, 2);
  put(record.destination_as, 2);
  put(record.sampling_rate, 4);
  if (protocol_ == ExportProtocol::kIpfix) {
    put(std::uint64_t(record.start), 8);
    put(std::uint64_t(record.end), 8);
  } else {
    put(std::uint32_t(record.start - booted_), 4);
    put(std::uint32_t(record.end - booted_), 4);
  }
}

void FlowEncoder::netflow9(std::span<const FlowRecord> records, std::int64_t exported) {
  const bool with_template = datagrams_ % kTemplateEvery == 0;
  // The header counts whole seconds: the uptime is that of the second it names.
  const std::int64_t second = (exported + 999) / 1000;
  put(9, 2);
  put(records.size() + with_template, 2);
  put(std::uint32_t(second * 1000 - booted_), 4);
  put(std::uint64_t(second), 4);
  put(sequence_++, 4);
  put(domain_, 4);
  if (with_template) put_template(0);
  if (records.empty()) return;
  const std::size_t begin = bytes_.size();
  put(kTemplate, 2);
  put(0, 2);
  for (const FlowRecord& record : records) put_record(record);
  while ((bytes_.size() - begin) % 4 != 0) put(0, 1);
  set_length(begin + 2, bytes_.size() - begin);
}

void FlowEncoder::ipfix(std::span<const FlowRecord> records, std::int64_t exported) {
  put(10, 2);
  put(0, 2);
  put(std::uint64_t((exported + 999) / 1000), 4);
  put(sequence_, 4);
  put(domain_, 4);
  if (datagrams_ % kTemplateEvery == 0) put_template(2);
  if (!records.empty()) {
    const std::size_t begin = bytes_.size();
    put(kTemplate, 2);
    put(0, 2);
    for (const FlowRecord& record : records) put_record(record);
    set_length(begin + 2, bytes_.size() - begin);
  }
  set_length(2, bytes_.size());
  sequence_ += std::uint32_t(records.size());
}

void FlowEncoder::sflow(std::span<const FlowRecord> records, std::int64_t exported) {
  put(5, 4);
  put(1, 4);
  put(agent_);
  put(0, 4);  // sub-agent
  put(sequence_++, 4);
  put(std::uint32_t(exported - booted_), 4);
  put(records.size(), 4);
  for (const FlowRecord& record : records) sflow_sample(record);
}

// One packet of the flow; the rate says for how many it stands.
void FlowEncoder::sflow_sample(const FlowRecord& record) {
  constexpr std::uint32_t kHeader = 14 + 20 + 8, kPadded = 44;
  const std::uint64_t packets = std::max<std::uint64_t>(record.packets, 1);
  const std::uint64_t frame = std::max<std::uint64_t>(record.bytes / packets, kHeader);
  put(1, 4);  // flow sample
  put(32 + 8 + 16 + kPadded, 4);
  put(++samples_, 4);
  put(record.input_interface, 4);  // source id
  put(packets * record.sampling_rate, 4);
  put(packets * samples_, 4);
  put(0, 4);
  put(record.input_interface, 4);
  put(record.output_interface, 4);
  put(1, 4);  // one record: the packet's header
  put(1, 4);
  put(16 + kPadded, 4);
  put(1, 4);  // Ethernet
  put(frame, 4);
  put(4, 4);  // checksum, stripped
  put(kHeader, 4);
  put(0x020000000001, 6);
  put(0x020000000002, 6);
  put(0x0800, 2);
  put(0x45, 1);
  put(record.type_of_service, 1);
  put(frame - 14, 2);
  put(0, 4);
  put(64, 1);
  put(record.protocol, 1);
  put(0, 2);
  put(record.source);
  put(record.destination);
  put(record.source_port, 2);
  put(record.destination_port, 2);
  put(0, 4 + 2);
}

}  // namespace outlierd::ctl
