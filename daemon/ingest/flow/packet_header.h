#pragma once
// The first bytes of a packet, as samplers send them, into the members of a flow record that they
// tell: addresses, protocol, type of service, ports, flags. VLAN tags and MPLS labels are looked
// through; of a tunnel it is the outer packet that counts. Total; what is cut off stays zero.

#include <cstddef>
#include <cstdint>
#include <span>

#include "core/traffic/flow_record.h"

namespace outlierd::ingest {

// Each gives the IP packet's length, or 0 where there is no IP packet to be seen.
std::uint32_t read_ethernet(std::span<const std::byte> frame, FlowRecord& out);
std::uint32_t read_mpls(std::span<const std::byte> labels, FlowRecord& out);
std::uint32_t read_ip(std::span<const std::byte> packet, FlowRecord& out);

}  // namespace outlierd::ingest
