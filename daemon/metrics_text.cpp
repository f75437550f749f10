#include "daemon/metrics_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <stdexcept>

namespace outlierd {
namespace {

constexpr auto kMetrics = std::to_array<MetricDeclaration>({
    {"outlierd_build_info", "gauge", "Always 1; the version is a label."},
    {"outlierd_uptime_seconds", "gauge", "Seconds since the daemon started."},
    {"outlierd_ready", "gauge",
     "1 when listening, the store is writable and no network is stalled."},
    {"outlierd_parts_total", "counter", "Parts of matrices accepted, by network."},
    {"outlierd_cells_total", "counter", "Observed cells in accepted parts, by network."},
    {"outlierd_parts_replaced_total", "counter", "Parts sent again while their bin was open."},
    {"outlierd_parts_duplicate_total", "counter",
     "Parts sent again after their bin was closed with them."},
    {"outlierd_parts_late_total", "counter", "Parts refused because their bin was closed."},
    {"outlierd_parts_too_much_total", "counter",
     "Parts refused because open bins held all they may."},
    {"outlierd_parts_not_durable_total", "counter",
     "Parts answered \"not durable\": the journal could not be written."},
    {"outlierd_messages_refused_total", "counter",
     "Messages refused before they reached a bin, by reason."},
    {"outlierd_open_bins", "gauge", "Bins that wait for parts, by network."},
    {"outlierd_slices_closed_total", "counter", "Bins closed, by network."},
    {"outlierd_slices_processed_total", "counter", "Slices scored and learned, by network."},
    {"outlierd_slices_waiting", "gauge", "Closed slices that wait for a math thread, by network."},
    {"outlierd_slice_seconds_total", "counter",
     "Time the math threads spent on slices, by network."},
    {"outlierd_last_slice_timestamp_seconds", "gauge", "Start of the last scored bin, by network."},
    {"outlierd_warmup_ratio", "gauge",
     "0 to 1: how much of its past the detector has seen, by network."},
    {"outlierd_rank", "gauge", "Effective rank of the model, by network."},
    {"outlierd_events_open", "gauge", "Open events, by network."},
    {"outlierd_events_pending", "gauge",
     "Pending events (suspicious, under the threshold), by network."},
    {"outlierd_events_opened_total", "counter", "Events opened, by network."},
    {"outlierd_anomalies_total", "counter", "Cells flagged, by network."},
    {"outlierd_journal_bytes", "gauge", "Size of the journal on disk."},
    {"outlierd_journal_pending_bytes", "gauge", "Records that wait to be made durable."},
    {"outlierd_journal_failures_total", "counter",
     "Groups of records that could not be made durable."},
    {"outlierd_journal_syncs_total", "counter", "Groups of records made durable."},
    {"outlierd_store_failing", "gauge", "1 while the store cannot be written."},
    {"outlierd_store_failures_total", "counter", "Times the store began to fail."},
    {"outlierd_store_pending_bytes", "gauge", "Reports that wait to be stored."},
    {"outlierd_store_thinned_total", "counter",
     "Slices whose history was given up while the store failed."},
    {"outlierd_store_file_bytes", "gauge", "Size of the database."},
    {"outlierd_snapshots_total", "counter", "Model snapshots written, by network."},
    {"outlierd_snapshot_failures_total", "counter", "Model snapshots that could not be written."},
    {"outlierd_matrix_connections", "gauge", "Open connections of matrix listeners."},
    {"outlierd_matrix_connections_total", "counter", "Connections accepted by matrix listeners."},
    {"outlierd_matrix_connections_refused_total", "counter", "Connections refused past the limit."},
    {"outlierd_matrix_connections_broken_total", "counter",
     "Connections ended by an error or a timeout."},
    {"outlierd_matrix_lines_total", "counter", "Lines read by matrix listeners."},
    {"outlierd_matrix_lines_too_long_total", "counter", "Lines refused because of their length."},
    {"outlierd_matrix_bytes_total", "counter", "Bytes read by matrix listeners."},
    {"outlierd_matrix_unauthorized_total", "counter", "Connections without a token that may send."},
    {"outlierd_flow_datagrams_total", "counter", "Datagrams received, by listener."},
    {"outlierd_flow_bytes_total", "counter", "Bytes of datagrams received, by listener."},
    {"outlierd_flow_records_total", "counter", "Flow records decoded from datagrams, by listener."},
    {"outlierd_flow_not_allowed_total", "counter",
     "Datagrams of senders not named in exporters, by listener."},
    {"outlierd_flow_kernel_drops_total", "counter",
     "Datagrams the kernel dropped because the receive buffer was full, by listener."},
    {"outlierd_flow_without_template_total", "counter",
     "Sets of records that came before their template, by listener."},
    {"outlierd_flow_templates", "gauge", "Templates kept, by listener."},
    {"outlierd_flow_templates_evicted_total", "counter",
     "Templates given up because there were too many, by listener."},
    {"outlierd_flow_receive_buffer_requested_bytes", "gauge",
     "Receive buffer asked for, all receivers of a listener."},
    {"outlierd_flow_receive_buffer_bytes", "gauge",
     "Receive buffer the kernel granted, all receivers of a listener."},
    {"outlierd_flow_refused_total", "counter", "Datagrams and lines refused, by reason."},
    {"outlierd_flow_binned_bytes_total", "counter",
     "Bytes put into cells, corrected for sampling, by network."},
    {"outlierd_flow_lost_records_total", "counter",
     "Records lost on the way, by sequence numbers, by network."},
    {"outlierd_flow_egress_records_total", "counter",
     "Records of traffic leaving an exporter, not counted again, by network."},
    {"outlierd_flow_unmapped_records_total", "counter",
     "Records whose origin or destination is no node, by network."},
    {"outlierd_flow_unmapped_bytes_total", "counter",
     "Bytes of those records, corrected for sampling, by network."},
    {"outlierd_flow_unknown_sampling_records_total", "counter",
     "Records left out because their sampling rate is unknown, by network."},
    {"outlierd_flow_late_records_total", "counter",
     "Records that came after their bin was closed, by network."},
    {"outlierd_flow_early_records_total", "counter",
     "Records too far ahead of the clock here, by network."},
    {"outlierd_flow_rows_unobserved_total", "counter",
     "Rows of bins not observed because an exporter was missing, by network."},
    {"outlierd_flow_json_lines_total", "counter", "Lines of JSON with flow records, by network."},
    {"outlierd_exporters", "gauge", "Exporters known, by network."},
    {"outlierd_operational_events_open", "gauge",
     "What is wrong with exporters now, by network and kind."},
    {"outlierd_exporter_records_total", "counter",
     "Records of an exporter; the first 200 of a network."},
    {"outlierd_exporter_lost_records_total", "counter", "Records of an exporter lost on the way."},
    {"outlierd_exporter_clock_skew_seconds", "gauge", "An exporter's clock minus the one here."},
    {"outlierd_exporter_last_seen_timestamp_seconds", "gauge", "When an exporter was heard last."},
    {"outlierd_exporter_silent", "gauge",
     "1 while an exporter is silent for longer than it usually is."},
    {"outlierd_notify_sent_total", "counter", "Alerts a receiver took, by notifier."},
    {"outlierd_notify_failed_total", "counter", "Attempts to send that failed, by notifier."},
    {"outlierd_notify_dropped_total", "counter",
     "Alerts given up because too many waited, by notifier."},
    {"outlierd_notify_queued", "gauge", "Alerts that wait to be sent, by notifier."},
    {"outlierd_notify_last_success_timestamp_seconds", "gauge",
     "When a receiver last took an alert, by notifier; 0: not since the start."},
    {"outlierd_http_requests_total", "counter", "HTTP requests, by method, route and code."},
    {"outlierd_http_connections", "gauge", "Open HTTP connections."},
    {"outlierd_http_connections_refused_total", "counter",
     "HTTP connections refused past the limit."},
    {"outlierd_http_request_duration_seconds", "histogram",
     "From the end of a request to the first byte of its answer."},
    {"outlierd_http_timeouts_total", "counter", "HTTP requests ended by a time limit, by which."},
    {"outlierd_http_bytes_total", "counter", "Bytes over HTTP, by direction."},
    {"outlierd_stream_clients", "gauge", "Clients of the live stream."},
    {"outlierd_stream_clients_dropped_total", "counter",
     "Clients of the live stream too slow to keep."},
});

std::string number_text(double value) {
  if (std::isnan(value)) return "NaN";
  if (std::isinf(value)) return value > 0 ? "+Inf" : "-Inf";
  return fmt::format("{}", value);
}

std::string escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '\\' || c == '"') out += '\\';
    if (c == '\n') {
      out += "\\n";
    } else {
      out += c;
    }
  }
  return out;
}

}  // namespace

std::span<const MetricDeclaration> metric_declarations() { return kMetrics; }

void MetricsText::add(std::string_view metric, double value, Labels labels) {
  add_part(metric, "", value, labels);
}

void MetricsText::add_part(std::string_view metric, std::string_view suffix, double value,
                           Labels labels) {
  if (metric != current_) {
    const auto declared = std::find_if(kMetrics.begin(), kMetrics.end(),
                                       [&](const auto& one) { return one.name == metric; });
    if (declared == kMetrics.end())
      throw std::logic_error("metric " + std::string(metric) + " is not declared");
    current_ = metric;
    text_ +=
        fmt::format("# HELP {} {}\n# TYPE {} {}\n", metric, declared->help, metric, declared->type);
  }
  text_ += metric;
  text_ += suffix;
  if (labels.size() > 0) {
    char separator = '{';
    for (const auto& [key, text] : labels) {
      text_ += separator;
      text_ += fmt::format("{}=\"{}\"", key, escaped(text));
      separator = ',';
    }
    text_ += '}';
  }
  text_ += ' ';
  text_ += number_text(value);
  text_ += '\n';
}

}  // namespace outlierd
