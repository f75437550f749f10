#pragma once
// NetFlow v5: a header of 24 bytes and records of 48. Keeps nothing between datagrams.

#include <cstddef>
#include <span>

#include "daemon/ingest/flow/flow_batch.h"

namespace outlierd::ingest {

inline constexpr std::size_t kNetflow5Header = 24, kNetflow5Record = 48;

FlowRefusal decode_netflow5(std::span<const std::byte> datagram, FlowBatch& out);

}  // namespace outlierd::ingest
