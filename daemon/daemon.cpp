#include "daemon/daemon.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <cstdlib>

#include "config/load.h"
#include "daemon/api/http_transport.h"
#include "daemon/daemon_parts.h"
#include "daemon/log.h"
#include "daemon/service_manager.h"

namespace outlierd {
namespace {

using namespace std::chrono_literals;

constexpr auto kStalled = 120s;  // slices wait so long without one being done

}  // namespace

std::vector<std::string> Daemon::Parts::unready() const {
  std::vector<std::string> reasons;
  if (stopping_) reasons.emplace_back("stopping");
  if (counters_.journal_failing) reasons.emplace_back("the journal cannot be written");
  if (counters_.store_failing) reasons.emplace_back("the store cannot be written");
  const auto now = std::chrono::steady_clock::now();
  for (std::size_t k = 0; k < models_.size(); ++k)
    if (status_[k].in_math > 0 && now - std::max(status_[k].last_done, begun_) > kStalled)
      reasons.push_back("network " + models_[k]->network()->name + " is stalled");
  return reasons;
}

std::string Daemon::Parts::metrics() {
  counters_.ready = unready().empty();
  counters_.uptime = std::chrono::steady_clock::now() - begun_;
  counters_.journal_pending_bytes = commit_->pending_bytes();
  counters_.store_pending_bytes = disk_->pending_bytes();
  counters_.store_thinned = disk_->thinned();
  std::vector<const ingest::ListenerCounters*> listeners;
  for (const Listener& one : listeners_) listeners.push_back(&one.listener->counters());
  for (std::size_t k = 0; k < models_.size(); ++k) {
    if (const api::LiveNetwork* live = live_->network(models_[k]->network()->name)) {
      status_[k].warmup = live->warmup;
      status_[k].rank = live->model.rank;
      status_[k].open_events = live->open_events;
      status_[k].pending_events = int(live->pending.size());
      status_[k].last_slice = live->last_slice;
    }
  }
  return metrics_text({kVersion, counters_, status_, ingestion_, listeners, server_->counters(),
                       api_->stream_clients(), *flows_, *notifiers_});
}

// What can be read again is; what is bad is named and the old stays in force.
std::vector<std::string> Daemon::Parts::reload() {
  std::vector<std::string> problems;
  const auto keep = [&](const tl::expected<void, std::string>& outcome) {
    if (!outcome) problems.push_back(outcome.error());
  };
  service_manager::reloading();
  if (!options_.config_file.empty()) {
    const auto config = config::load_file(options_.config_file);
    if (!config) {
      for (const config::Problem& problem : config.error())
        problems.push_back(config::format(options_.config_file, problem));
    } else {
      for (std::string& problem : flows_->reload(*config)) problems.push_back(std::move(problem));
      if (auto problem = reload_notifiers(*config)) problems.push_back(std::move(*problem));
      for (std::size_t k = 0; k < std::min(config->networks.size(), config_.networks.size()); ++k)
        config_.networks[k].node_map = config->networks[k].node_map;
      if (*config != config_)
        problems.push_back(options_.config_file +
                           ": changed; these settings take effect with a restart");
    }
  }
  keep(http_tokens_->reload());
  if (config_.http.tls.enabled()) keep(server_->reload_tls());
  for (Listener& one : listeners_) {
    keep(one.tokens->reload());
    if (!one.settings.tls.enabled()) continue;
    auto context = api::load_tls({one.settings.tls.certificate_file, one.settings.tls.key_file});
    if (context) {
      one.listener->use_tls(*context);
    } else {
      problems.push_back(context.error());
    }
  }
  for (const std::string& problem : problems) log::error("reload_refused", {{"reason", problem}});
  if (problems.empty()) log::info("reloaded");
  service_manager::ready();
  return problems;
}

void Daemon::Parts::wait_for_signal() {
  signals_.async_wait([this](auto error, int signal) {
    if (error) return;
    if (signal == SIGHUP) {
      reload();
    } else if (stopping_) {
      std::_Exit(1);  // asked twice: at once; the journal has what was answered
    } else {
      stop();
    }
    wait_for_signal();
  });
}

void Daemon::Parts::stop() {
  if (stopping_) return;
  log::info("stopping");
  service_manager::stopping();
  stopping_ = true;
  tick_timer_.cancel();
  housekeeping_timer_.cancel();
  open_doors_ = listeners_.size() + 2;
  for (Listener& one : listeners_) one.listener->stop([this] { door_closed(); });
  server_->stop(10s, [this] { door_closed(); });
  flows_->stop([this] {
    disk_->after_reports([this, state = flows_->save(true)] {
      if (const auto error = storage_.save_flows(state))
        log::error("flow_state_failed", {{"reason", *error}});
      boost::asio::post(io_, [this] { door_closed(); });
    });
  });
}

void Daemon::Parts::door_closed() {
  if (--open_doors_ == 0) finish_when_idle();
}

// Everything accepted is processed; then a last snapshot of each network; then the end.
void Daemon::Parts::finish_when_idle() {
  if (open_doors_ > 0 || finished_) return;
  ingestion_.pump();
  for (std::size_t k = 0; k < models_.size(); ++k)
    if (ingestion_.waiting(k) + status_[k].in_math > 0) return;  // on_processed() comes back
  bool under_way = false;
  for (std::size_t k = 0; k < models_.size(); ++k) {
    if (!last_snapshot_asked_) snapshot(k);
    under_way = under_way || status_[k].snapshot_under_way;
  }
  last_snapshot_asked_ = true;
  if (under_way && !counters_.store_failing) return;
  finished_ = true;
  signals_.cancel();
  watchdog_timer_.cancel();
  // What is posted from now on is of no use to anybody.
  io_.stop();
}

Daemon::Daemon(config::Config config, DaemonOptions options)
    : parts_(std::make_unique<Parts>(std::move(config), std::move(options))) {}
Daemon::~Daemon() = default;
void Daemon::run() { parts_->run(); }
void Daemon::stop() { parts_->request_stop(); }
std::uint16_t Daemon::http_port() const { return parts_->http_port(); }
std::uint16_t Daemon::flow_port(std::size_t listener) const { return parts_->flow_port(listener); }
std::uint16_t Daemon::matrix_port(std::size_t listener) const {
  return parts_->matrix_port(listener);
}

}  // namespace outlierd
