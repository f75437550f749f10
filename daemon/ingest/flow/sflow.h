#pragma once
// sFlow v5: each flow sample of an IP packet is a flow record of one packet, its bytes the frame's
// length and its rate beside it. Counter samples are skipped.

#include <cstddef>
#include <span>

#include "daemon/ingest/flow/flow_batch.h"

namespace outlierd::ingest {

// The header into the batch and the samples into its records; the reason also in out.refusal.
FlowRefusal decode_sflow(std::span<const std::byte> datagram, FlowBatch& out);

}  // namespace outlierd::ingest
