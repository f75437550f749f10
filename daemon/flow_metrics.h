#pragma once
// What the flow side counts, as metrics. Exporters have series of their own up to a limit; beyond
// it only the sums speak of them.

#include "daemon/flow_intake.h"
#include "daemon/metrics_text.h"

namespace outlierd {

inline constexpr std::size_t kMostExporterSeries = 200;  // of a network, the first by address

void add_flow_metrics(MetricsText& out, const FlowIntake& flows);

}  // namespace outlierd
