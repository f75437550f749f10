#pragma once
// A POSTed body into parts: one JSON object, JSON lines, or CBOR. Answered once all of it is
// durable or the first thing that went wrong is known.

#include <functional>

#include "daemon/api/api.h"
#include "daemon/ingestion.h"

namespace outlierd {

void http_ingest(Ingestion& ingestion, api::IngestRequest request,
                 std::function<void(api::IngestAnswer)> done);

}  // namespace outlierd
