#pragma once
// Flow records into datagrams of NetFlow v5, v9, IPFIX or sFlow v5, as a router would send them:
// templates first and again now and then, sequence numbers, sampling rates. One object an exporter.
// Pure: the time of export is an argument.

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/traffic/flow_record.h"

namespace outlierd::ctl {

enum class ExportProtocol { kNetflow5, kNetflow9, kIpfix, kSflow };
std::optional<ExportProtocol> protocol_named(std::string_view name);

class FlowEncoder {
 public:
  // booted: milliseconds since the epoch; domain: the exporter's own number.
  FlowEncoder(ExportProtocol protocol, std::int64_t booted, std::uint32_t domain,
              const IpAddress& agent)
      : protocol_(protocol), booted_(booted), domain_(domain), agent_(agent) {}

  // As many records as a datagram of 1500 bytes holds beside a template.
  static std::size_t most_records(ExportProtocol protocol) {
    return protocol == ExportProtocol::kSflow ? 12 : protocol == ExportProtocol::kIpfix ? 24 : 28;
  }

  // At most most_records() of IPv4; the bytes stay until the next call.
  std::span<const std::byte> encode(std::span<const FlowRecord> records, std::int64_t exported);

 private:
  void put(std::uint64_t value, int bytes);
  void put(const IpAddress& address);
  void netflow5(std::span<const FlowRecord> records, std::int64_t exported);
  void netflow9(std::span<const FlowRecord> records, std::int64_t exported);
  void ipfix(std::span<const FlowRecord> records, std::int64_t exported);
  void sflow(std::span<const FlowRecord> records, std::int64_t exported);
  void sflow_sample(const FlowRecord& record);
  void put_template(std::uint16_t set);
  void put_record(const FlowRecord& record);
  void set_length(std::size_t at, std::size_t length);

  ExportProtocol protocol_;
  std::int64_t booted_;
  std::uint32_t domain_;
  IpAddress agent_;
  std::uint32_t sequence_ = 0, samples_ = 0;
  std::uint64_t datagrams_ = 0;
  std::vector<std::byte> bytes_;
};

}  // namespace outlierd::ctl
