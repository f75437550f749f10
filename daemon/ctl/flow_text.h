#pragma once
// A flow record as a line of JSON, with the names that docs/ingest.md gives them.

#include <string>

#include "daemon/ingest/flow/flow_batch.h"

namespace outlierd::ctl {

// Null: not given. Counters as sent, the sampling rate (0: not known) beside them.
std::string flow_line(const ingest::FlowBatch& batch, const FlowRecord& record);

std::string address_text(const IpAddress& address);  // empty for none

}  // namespace outlierd::ctl
