#include "daemon/metrics.h"

#include <fmt/format.h>

#include "daemon/flow_metrics.h"
#include "daemon/metrics_text.h"

namespace outlierd {
namespace {

void add_networks(MetricsText& out, const MetricsSources& from) {
  const Ingestion& ingestion = from.ingestion;
  const auto each = [&](std::string_view metric, const auto& value) {
    for (std::size_t k = 0; k < from.networks.size(); ++k)
      out.add(metric, double(value(k)), {{"network", ingestion.network(k).name}});
  };
  each("outlierd_parts_total", [&](auto k) { return ingestion.counters(k).parts; });
  each("outlierd_cells_total", [&](auto k) { return ingestion.counters(k).cells; });
  each("outlierd_parts_replaced_total", [&](auto k) { return ingestion.counters(k).replaced; });
  each("outlierd_parts_duplicate_total", [&](auto k) { return ingestion.counters(k).duplicates; });
  each("outlierd_parts_late_total", [&](auto k) { return ingestion.counters(k).late; });
  each("outlierd_parts_too_much_total", [&](auto k) { return ingestion.counters(k).too_much; });
  each("outlierd_parts_not_durable_total",
       [&](auto k) { return ingestion.counters(k).not_durable; });
  each("outlierd_open_bins", [&](auto k) { return ingestion.assembler(k).open_bins(); });
  each("outlierd_slices_closed_total", [&](auto k) { return ingestion.counters(k).closed; });
  each("outlierd_slices_processed_total", [&](auto k) { return from.networks[k].processed; });
  each("outlierd_slices_waiting",
       [&](auto k) { return ingestion.waiting(k) + from.networks[k].in_math; });
  each("outlierd_slice_seconds_total", [&](auto k) { return from.networks[k].seconds; });
  for (std::size_t k = 0; k < from.networks.size(); ++k)
    if (from.networks[k].last_slice)
      out.add("outlierd_last_slice_timestamp_seconds", double(*from.networks[k].last_slice),
              {{"network", ingestion.network(k).name}});
  each("outlierd_warmup_ratio", [&](auto k) { return from.networks[k].warmup; });
  each("outlierd_rank", [&](auto k) { return from.networks[k].rank; });
  each("outlierd_events_open", [&](auto k) { return from.networks[k].open_events; });
  each("outlierd_events_pending", [&](auto k) { return from.networks[k].pending_events; });
  each("outlierd_events_opened_total", [&](auto k) { return from.networks[k].events_opened; });
  each("outlierd_anomalies_total", [&](auto k) { return from.networks[k].anomalies; });
  each("outlierd_snapshots_total", [&](auto k) { return from.networks[k].snapshots; });
  for (int reason = 0; reason < ingest::kRefusalReasons; ++reason)
    out.add("outlierd_messages_refused_total", double(ingestion.refused()[std::size_t(reason)]),
            {{"reason", ingest::name_of(ingest::RefusalReason(reason))}});
}

void add_disk(MetricsText& out, const DaemonCounters& daemon) {
  out.add("outlierd_journal_bytes", double(daemon.journal_bytes));
  out.add("outlierd_journal_pending_bytes", double(daemon.journal_pending_bytes));
  out.add("outlierd_journal_failures_total", double(daemon.journal_failures));
  out.add("outlierd_journal_syncs_total", double(daemon.journal_syncs));
  out.add("outlierd_store_failing", daemon.store_failing ? 1 : 0);
  out.add("outlierd_store_failures_total", double(daemon.store_failures));
  out.add("outlierd_store_pending_bytes", double(daemon.store_pending_bytes));
  out.add("outlierd_store_thinned_total", double(daemon.store_thinned));
  out.add("outlierd_store_file_bytes", double(daemon.store_file_bytes));
  out.add("outlierd_snapshot_failures_total", double(daemon.snapshot_failures));
}

void add_listeners(MetricsText& out, const std::vector<const ingest::ListenerCounters*>& all) {
  ingest::ListenerCounters sum;
  for (const ingest::ListenerCounters* one : all) {
    sum.open += one->open;
    sum.accepted += one->accepted;
    sum.refused += one->refused;
    sum.broken += one->broken;
    sum.lines += one->lines;
    sum.lines_too_long += one->lines_too_long;
    sum.bytes += one->bytes;
    sum.unauthorized += one->unauthorized;
  }
  out.add("outlierd_matrix_connections", double(sum.open));
  out.add("outlierd_matrix_connections_total", double(sum.accepted));
  out.add("outlierd_matrix_connections_refused_total", double(sum.refused));
  out.add("outlierd_matrix_connections_broken_total", double(sum.broken));
  out.add("outlierd_matrix_lines_total", double(sum.lines));
  out.add("outlierd_matrix_lines_too_long_total", double(sum.lines_too_long));
  out.add("outlierd_matrix_bytes_total", double(sum.bytes));
  out.add("outlierd_matrix_unauthorized_total", double(sum.unauthorized));
}

void add_http(MetricsText& out, const api::HttpCounters& http) {
  for (const auto& [key, count] : http.requests) {
    const auto& [method, route, code] = key;
    out.add("outlierd_http_requests_total", double(count),
            {{"method", method}, {"route", route}, {"code", std::to_string(code)}});
  }
  out.add("outlierd_http_connections", double(http.connections_open));
  out.add("outlierd_http_connections_refused_total", double(http.connections_refused));
  constexpr std::string_view kDuration = "outlierd_http_request_duration_seconds";
  double below = 0.0;
  for (std::size_t k = 0; k < http.durations.size(); ++k) {
    below += double(http.durations[k]);
    const std::string bound =
        k < std::size(api::kDurationBounds) ? fmt::format("{}", api::kDurationBounds[k]) : "+Inf";
    out.add_part(kDuration, "_bucket", below, {{"le", bound}});
  }
  if (!http.durations.empty()) {
    out.add_part(kDuration, "_sum", http.duration_sum);
    out.add_part(kDuration, "_count", below);
  }
  constexpr std::string_view kTimeouts = "outlierd_http_timeouts_total";
  out.add(kTimeouts, double(http.header_timeouts), {{"limit", "header"}});
  out.add(kTimeouts, double(http.body_timeouts), {{"limit", "body"}});
  out.add(kTimeouts, double(http.handler_timeouts), {{"limit", "handler"}});
  out.add(kTimeouts, double(http.write_timeouts), {{"limit", "write"}});
  out.add("outlierd_http_bytes_total", double(http.bytes_read), {{"direction", "in"}});
  out.add("outlierd_http_bytes_total", double(http.bytes_written), {{"direction", "out"}});
  out.add("outlierd_stream_clients_dropped_total", double(http.slow_streams_dropped));
}

void add_notifiers(MetricsText& out, const notify::Notifiers& notifiers) {
  const auto each = [&](std::string_view metric, const auto& value) {
    for (const auto& one : notifiers.all())
      out.add(metric, double(value(one->counters())), {{"notifier", one->settings().name}});
  };
  each("outlierd_notify_sent_total", [](const auto& of) { return of.sent.load(); });
  each("outlierd_notify_failed_total", [](const auto& of) { return of.failed.load(); });
  each("outlierd_notify_dropped_total", [](const auto& of) { return of.dropped.load(); });
  each("outlierd_notify_queued", [](const auto& of) { return of.queued.load(); });
  each("outlierd_notify_last_success_timestamp_seconds",
       [](const auto& of) { return of.last_success.load(); });
}

}  // namespace

std::string metrics_text(const MetricsSources& from) {
  MetricsText out;
  out.add("outlierd_build_info", 1, {{"version", from.version}});
  out.add("outlierd_uptime_seconds", from.daemon.uptime.count());
  out.add("outlierd_ready", from.daemon.ready ? 1 : 0);
  add_networks(out, from);
  add_disk(out, from.daemon);
  add_listeners(out, from.listeners);
  add_flow_metrics(out, from.flows);
  add_notifiers(out, from.notifiers);
  add_http(out, from.http);
  out.add("outlierd_stream_clients", double(from.stream_clients));
  return out.take();
}

}  // namespace outlierd
