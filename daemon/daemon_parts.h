#pragma once
// The daemon from the inside: its parts and how they call each other. For daemon*.cpp only.
//
//   daemon_start.cpp  what exists, recovery, the order of starting
//   daemon_work.cpp   from a closed bin to a report, snapshots, what time brings
//   daemon.cpp        questions, reload, the order of stopping
//   daemon_notify.cpp what notifiers are told
//
// Everything here runs on the network thread unless a line says otherwise.

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <optional>

#include "daemon/api/api.h"
#include "daemon/api/http_server.h"
#include "daemon/daemon.h"
#include "daemon/flow_intake.h"
#include "daemon/ingest/matrix_listener.h"
#include "daemon/ingestion.h"
#include "daemon/metrics.h"
#include "daemon/models.h"
#include "daemon/notify/notifiers.h"
#include "daemon/storage.h"
#include "daemon/store_history.h"
#include "daemon/worker/disk_thread.h"
#include "daemon/worker/group_commit.h"
#include "daemon/worker/lanes.h"

namespace outlierd {

class Daemon::Parts {
 public:
  Parts(config::Config config, DaemonOptions options);
  ~Parts();

  void run();
  void request_stop();  // any thread
  std::uint16_t http_port() const { return server_->port(); }
  std::uint16_t matrix_port(std::size_t k) const { return listeners_.at(k).listener->port(); }
  std::uint16_t flow_port(std::size_t k) const { return flows_->port(k); }

 private:
  struct Listener {
    std::unique_ptr<api::Tokens> tokens;
    std::unique_ptr<ingest::MatrixListener> listener;
    config::MatrixListener settings;
  };

  Ingestion::Ports ingestion_ports();
  void recover();
  void store_replayed();
  void start_threads();
  void start_api();
  api::NetworkSettings settings_of(std::size_t k) const;
  api::ApiPorts api_ports();
  void start_listener(const config::MatrixListener& settings);
  void start_flows();
  void start_notifiers();

  // On the journal thread.
  worker::GroupCommit::Outcome append(const std::vector<worker::GroupCommit::Record>& records);
  bool process(std::size_t k, std::shared_ptr<const ClosedBin> bin);
  void on_processed(std::size_t k, const Model::Processed& done);
  void on_report(std::size_t k, const Model::Processed& done);
  void on_store_change(const std::optional<std::string>& error);
  void snapshot(std::size_t k);
  void on_snapshot(std::size_t k, EpochSeconds closed_through,
                   const std::optional<std::string>& error);
  void tick();
  void housekeeping();
  void beat();

  notify::EventNotice notice_of(const api::EventRecord& event) const;
  std::vector<notify::EventNotice> notices(bool open_only) const;
  notify::Notifiers::Known known_events() const;
  void remind_notifiers();
  std::optional<std::string> reload_notifiers(const config::Config& config);  // why not
  void test_notifiers(api::ApiPorts::NotifyTestDone done);

  std::vector<std::string> unready() const;
  std::string metrics();
  std::vector<std::string> reload();
  void wait_for_signal();
  void stop();
  void door_closed();
  void finish_when_idle();

  config::Config config_;
  DaemonOptions options_;
  std::function<EpochSeconds()> now_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();

  boost::asio::io_context io_{1};
  boost::asio::executor_work_guard<boost::asio::io_context::executor_type> work_ =
      boost::asio::make_work_guard(io_);
  boost::asio::signal_set signals_{io_};
  boost::asio::steady_timer tick_timer_{io_}, housekeeping_timer_{io_}, watchdog_timer_{io_};

  Storage storage_;
  Ingestion ingestion_;
  std::vector<std::unique_ptr<Model>> models_;
  std::vector<worker::ReportToStore> replayed_;
  std::vector<NetworkStatus> status_;
  DaemonCounters counters_;
  std::chrono::steady_clock::time_point last_snapshots_ = begun_;

  std::unique_ptr<worker::DiskThread> disk_;
  std::unique_ptr<worker::GroupCommit> commit_;
  std::unique_ptr<worker::Lanes> lanes_;
  std::unique_ptr<StoreHistory> history_;
  std::unique_ptr<api::LiveState> live_;
  std::unique_ptr<api::Tokens> http_tokens_;
  std::unique_ptr<api::Api> api_;
  std::unique_ptr<api::HttpServer> server_;
  std::vector<Listener> listeners_;
  std::unique_ptr<FlowIntake> flows_;
  std::unique_ptr<notify::Notifiers> notifiers_;

  bool history_complete_ = false;  // all open events are in the live state
  std::chrono::steady_clock::time_point last_reminder_ = begun_;
  bool stopping_ = false, finished_ = false, last_snapshot_asked_ = false;
  std::size_t open_doors_ = 0;
};

}  // namespace outlierd
