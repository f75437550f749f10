#include "daemon/flow_metrics.h"

#include <algorithm>

#include "core/traffic/address_text.h"

namespace outlierd {
namespace {

using Counters = ingest::FlowReceiverCounters;

void add_doors(MetricsText& out, const FlowIntake& flows) {
  std::vector<std::pair<std::string, Counters>> sums;
  for (const FlowIntake::Door& door : flows.doors()) {
    if (door.receivers.empty()) continue;
    Counters sum;
    for (const Counters& one : door.counters) sum.add(one);
    sums.emplace_back(door.name, sum);
  }
  const auto each = [&](std::string_view metric, const auto& value) {
    for (const auto& [name, sum] : sums) out.add(metric, double(value(sum)), {{"listener", name}});
  };
  each("outlierd_flow_datagrams_total", [](const Counters& c) { return c.datagrams; });
  each("outlierd_flow_bytes_total", [](const Counters& c) { return c.bytes; });
  each("outlierd_flow_records_total", [](const Counters& c) { return c.records; });
  each("outlierd_flow_not_allowed_total", [](const Counters& c) { return c.not_allowed; });
  each("outlierd_flow_kernel_drops_total", [](const Counters& c) { return c.kernel_drops; });
  each("outlierd_flow_without_template_total",
       [](const Counters& c) { return c.without_template; });
  each("outlierd_flow_templates", [](const Counters& c) { return c.templates; });
  each("outlierd_flow_templates_evicted_total",
       [](const Counters& c) { return c.templates_evicted; });
  each("outlierd_flow_receive_buffer_requested_bytes",
       [](const Counters& c) { return c.buffer_requested; });
  each("outlierd_flow_receive_buffer_bytes", [](const Counters& c) { return c.buffer_granted; });
  for (int reason = 1; reason < ingest::kFlowRefusals; ++reason) {
    std::uint64_t refused = 0;
    for (const auto& [name, sum] : sums) refused += sum.refused[std::size_t(reason)];
    for (const auto& network : flows.networks())
      refused += network->json_counters().refused[std::size_t(reason)];
    out.add("outlierd_flow_refused_total", double(refused),
            {{"reason", ingest::name_of(ingest::FlowRefusal(reason))}});
  }
}

void add_networks(MetricsText& out, const FlowIntake& flows) {
  std::vector<std::pair<std::string, ExporterTally>> sums;
  for (const auto& network : flows.networks()) {
    ExporterTally sum;
    for (const auto& [address, facts] : network->bins().book().exporters()) {
      const ExporterTally& one = facts.total;
      sum.lost_records += one.lost_records;
      sum.egress_records += one.egress_records;
      sum.unmapped_records += one.unmapped_records;
      sum.unmapped_bytes += one.unmapped_bytes;
      sum.unknown_rate_records += one.unknown_rate_records;
      sum.late_records += one.late_records;
      sum.early_records += one.early_records;
      sum.bytes += one.bytes;
    }
    sum.late_records += network->bins().counts().late_records;
    sums.emplace_back(network->network().name, sum);
  }
  const auto each = [&](std::string_view metric, const auto& value) {
    for (const auto& [name, sum] : sums) out.add(metric, double(value(sum)), {{"network", name}});
  };
  using Tally = ExporterTally;
  each("outlierd_flow_binned_bytes_total", [](const Tally& t) { return t.bytes; });
  each("outlierd_flow_lost_records_total", [](const Tally& t) { return t.lost_records; });
  each("outlierd_flow_egress_records_total", [](const Tally& t) { return t.egress_records; });
  each("outlierd_flow_unmapped_records_total", [](const Tally& t) { return t.unmapped_records; });
  each("outlierd_flow_unmapped_bytes_total", [](const Tally& t) { return t.unmapped_bytes; });
  each("outlierd_flow_unknown_sampling_records_total",
       [](const Tally& t) { return t.unknown_rate_records; });
  each("outlierd_flow_late_records_total", [](const Tally& t) { return t.late_records; });
  each("outlierd_flow_early_records_total", [](const Tally& t) { return t.early_records; });
  for (const auto& network : flows.networks())
    out.add("outlierd_flow_rows_unobserved_total", double(network->bins().counts().rows_hidden),
            {{"network", network->network().name}});
  for (const auto& network : flows.networks())
    out.add("outlierd_flow_json_lines_total", double(network->json_counters().lines),
            {{"network", network->network().name}});
  for (const auto& network : flows.networks())
    out.add("outlierd_exporters", double(network->bins().book().exporters().size()),
            {{"network", network->network().name}});
  for (const auto& network : flows.networks())
    for (const std::string& kind : OperationalEvents::kinds()) {
      const auto& all = network->operational().all();
      const auto open = std::count_if(all.begin(), all.end(), [&](const OperationalEvent& one) {
        return !one.closed && one.kind == kind;
      });
      out.add("outlierd_operational_events_open", double(open),
              {{"network", network->network().name}, {"kind", kind}});
    }
}

void add_exporters(MetricsText& out, const FlowIntake& flows) {
  const auto each = [&](std::string_view metric, const auto& value) {
    for (const auto& network : flows.networks()) {
      std::size_t shown = 0;
      for (const auto& [address, facts] : network->bins().book().exporters()) {
        if (++shown > kMostExporterSeries) break;
        out.add(metric, double(value(facts)),
                {{"network", network->network().name}, {"exporter", address_text(address)}});
      }
    }
  };
  using Facts = ExporterFacts;
  each("outlierd_exporter_records_total", [](const Facts& f) { return f.total.records; });
  each("outlierd_exporter_lost_records_total", [](const Facts& f) { return f.total.lost_records; });
  each("outlierd_exporter_clock_skew_seconds",
       [](const Facts& f) { return double(f.total.clock.skew().value_or(0)) / 1000.0; });
  each("outlierd_exporter_last_seen_timestamp_seconds",
       [](const Facts& f) { return double(f.total.received) / 1000.0; });
  each("outlierd_exporter_silent", [](const Facts& f) { return f.silent ? 1 : 0; });
}

}  // namespace

void add_flow_metrics(MetricsText& out, const FlowIntake& flows) {
  add_doors(out, flows);
  add_networks(out, flows);
  add_exporters(out, flows);
}

}  // namespace outlierd
