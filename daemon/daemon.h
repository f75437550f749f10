#pragma once
// The composition root: what exists, in what order it starts and stops, and who talks to whom.
//
//   net    one io_context: listeners, ingestion, live state, API        (the thread in run())
//   math   lanes: the models          journal  group commit
//   disk   reports, snapshots, actions          query  reads for the API
//
// Start: storage, models from snapshots, journal replay, threads, API, listeners. Stop: listeners,
// what is accepted is processed, snapshots, disk. Embeddable: port 0, and ask which it became.

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "config/schema.h"
#include "core/traffic/network.h"

namespace outlierd {

inline constexpr const char* kVersion = OUTLIERD_VERSION;

struct DaemonOptions {
  std::string config_file = {};  // read again on SIGHUP; empty: there is none
  bool handle_signals = true;
  std::function<EpochSeconds()> now = {};  // the system's clock unless said otherwise
  std::chrono::seconds notify_resend{60};  // to an Alertmanager, of what still fires
};

class Daemon {
 public:
  // Throws std::runtime_error that says what could not be started and why.
  Daemon(config::Config config, DaemonOptions options);
  ~Daemon();

  void run();   // until it is stopped; every accepted slice is finished first
  void stop();  // from any thread

  std::uint16_t http_port() const;
  std::uint16_t matrix_port(std::size_t listener) const;  // 0 for a Unix socket
  std::uint16_t flow_port(std::size_t listener) const;

 private:
  class Parts;
  std::unique_ptr<Parts> parts_;
};

}  // namespace outlierd
