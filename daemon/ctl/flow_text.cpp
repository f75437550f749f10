#include "daemon/ctl/flow_text.h"

#include <arpa/inet.h>
#include <fmt/format.h>

#include "core/traffic/time_text.h"

namespace outlierd::ctl {
namespace {

std::string quoted_address(const IpAddress& address) {
  return address.family == 0 ? "null" : '"' + address_text(address) + '"';
}

std::string quoted_time(std::int64_t milliseconds) {
  if (milliseconds < 0) return "null";
  std::string text = time_text(milliseconds / 1000);
  text.pop_back();  // the Z
  return fmt::format("\"{}.{:03}Z\"", text, milliseconds % 1000);
}

const char* quoted_direction(FlowDirection direction) {
  if (direction == FlowDirection::kIngress) return "\"ingress\"";
  return direction == FlowDirection::kEgress ? "\"egress\"" : "null";
}

}  // namespace

std::string address_text(const IpAddress& address) {
  char text[INET6_ADDRSTRLEN] = "";
  if (address.family != 0)
    inet_ntop(address.family == 6 ? AF_INET6 : AF_INET, address.bytes.data(), text, sizeof text);
  return text;
}

std::string flow_line(const ingest::FlowBatch& batch, const FlowRecord& record) {
  std::string line =
      fmt::format(R"({{"type":"{}","exporter":{},"observation_domain":{},"sequence":{})",
                  ingest::name_of(batch.protocol),
                  quoted_address(record.exporter.family != 0 ? record.exporter : batch.exporter),
                  batch.domain, batch.has_sequence ? std::to_string(batch.sequence) : "null");
  if (batch.agent.family != 0) line += fmt::format(R"(,"agent":{})", quoted_address(batch.agent));
  line += fmt::format(
      R"(,"in_if":{},"out_if":{},"src":{},"dst":{},"src_mask":{},"dst_mask":{},"src_as":{},"dst_as":{})",
      record.input_interface, record.output_interface, quoted_address(record.source),
      quoted_address(record.destination), record.source_prefix_length,
      record.destination_prefix_length, record.source_as, record.destination_as);
  line += fmt::format(
      R"(,"next_hop":{},"bgp_next_hop":{},"proto":{},"src_port":{},"dst_port":{},"tcp_flags":{},"tos":{})",
      quoted_address(record.next_hop), quoted_address(record.bgp_next_hop), record.protocol,
      record.source_port, record.destination_port, record.tcp_flags, record.type_of_service);
  line += fmt::format(
      R"(,"bytes":{},"packets":{},"flows":{},"sampling_rate":{},"direction":{},"t_start":{},"t_end":{}}})",
      record.bytes, record.packets, record.flows, record.sampling_rate,
      quoted_direction(record.direction), quoted_time(record.start), quoted_time(record.end));
  return line;
}

}  // namespace outlierd::ctl
