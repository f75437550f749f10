#pragma once
// A POSTed body of flow records, one JSON object a line, into the flow side of its network. Taken
// means binned in memory; it is durable once its bin is over.

#include <functional>

#include "daemon/api/api.h"
#include "daemon/flow_intake.h"

namespace outlierd {

void flow_http(FlowIntake& flows, api::IngestRequest request,
               const std::function<void(api::IngestAnswer)>& done);

}  // namespace outlierd
