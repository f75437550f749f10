#pragma once
// What the daemon counts, and all of it as metrics.

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "daemon/api/http_server.h"
#include "daemon/flow_intake.h"
#include "daemon/ingest/matrix_listener.h"
#include "daemon/ingestion.h"
#include "daemon/notify/notifiers.h"

namespace outlierd {

struct NetworkStatus {
  std::uint64_t processed = 0, anomalies = 0, events_opened = 0, snapshots = 0;
  double seconds = 0.0;  // of math
  std::chrono::steady_clock::time_point last_done{};
  std::optional<EpochSeconds> snapshot_through;  // what the newest snapshot holds
  bool snapshot_under_way = false;
  std::size_t in_math = 0;  // slices given to the math threads and not yet come back
  // Taken from elsewhere when metrics are asked for.
  double warmup = 0.0;
  int rank = 0, open_events = 0, pending_events = 0;
  std::optional<EpochSeconds> last_slice;
};

struct DaemonCounters {
  bool ready = false, journal_failing = false, store_failing = false;
  std::uint64_t journal_failures = 0, journal_syncs = 0, journal_bytes = 0;
  std::uint64_t store_failures = 0, store_file_bytes = 0, snapshot_failures = 0;
  std::chrono::duration<double> uptime{};
  std::size_t journal_pending_bytes = 0, store_pending_bytes = 0;
  std::uint64_t store_thinned = 0;
};

struct MetricsSources {
  std::string version;
  const DaemonCounters& daemon;
  const std::vector<NetworkStatus>& networks;
  const Ingestion& ingestion;
  std::vector<const ingest::ListenerCounters*> listeners;
  const api::HttpCounters& http;
  std::size_t stream_clients = 0;
  const FlowIntake& flows;
  const notify::Notifiers& notifiers;
};

std::string metrics_text(const MetricsSources& from);

}  // namespace outlierd
