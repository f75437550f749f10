#include "daemon/daemon.h"

#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/signal_set.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <map>
#include <stdexcept>
#include <thread>

#include "config/load.h"
#include "core/traffic/time_text.h"
#include "daemon/api/api.h"
#include "daemon/api/http_server.h"
#include "daemon/api/http_transport.h"
#include "daemon/http_ingest.h"
#include "daemon/ingest/matrix_listener.h"
#include "daemon/ingestion.h"
#include "daemon/log.h"
#include "daemon/metrics.h"
#include "daemon/models.h"
#include "daemon/service_manager.h"
#include "daemon/storage.h"
#include "daemon/store_history.h"
#include "daemon/worker/disk_thread.h"
#include "daemon/worker/group_commit.h"
#include "daemon/worker/lanes.h"

namespace outlierd {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr std::size_t kLaneSlices = 8;                             // queued of one network
constexpr std::size_t kMostUnstoredBytes = std::size_t{64} << 20;  // reports waiting for the disk
constexpr auto kHousekeeping = 60s;                                // between prunings
constexpr auto kStalled = 120s;  // slices wait so long without one being done

EpochSeconds system_now() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

std::vector<Network> networks_of(const config::Config& config) {
  std::vector<Network> networks;
  for (const auto& one : config.networks) networks.push_back(config::network_of(one));
  return networks;
}

std::vector<AssemblerOptions> assembler_options_of(const config::Config& config) {
  std::vector<AssemblerOptions> options;
  for (const auto& one : config.networks)
    options.push_back({.lateness_seconds = int(one.lateness.count()), .sources = one.sources});
  return options;
}

api::Tokens tokens_of(const std::string& file, bool allow_anonymous) {
  auto tokens = api::Tokens::load({.file = file, .allow_anonymous = allow_anonymous});
  if (!tokens) throw std::runtime_error(tokens.error());
  return std::move(*tokens);
}

std::shared_ptr<asio::ssl::context> tls_of(const config::Tls& tls) {
  if (!tls.enabled()) return nullptr;
  auto context = api::load_tls({tls.certificate_file, tls.key_file});
  if (!context) throw std::runtime_error(context.error());
  return *context;
}

ingest::ListenerOptions listener_options_of(const config::MatrixListener& settings) {
  using Kind = ingest::ListenAddress::Kind;
  const config::Endpoint& at = settings.listen;
  const Kind kind = at.transport == config::Transport::kUnix  ? Kind::kUnix
                    : at.transport == config::Transport::kTls ? Kind::kTls
                                                              : Kind::kTcp;
  ingest::ListenerOptions options;
  options.address = {kind, at.host, at.port, at.path};
  options.max_line = settings.max_line;
  options.max_connections = std::size_t(settings.max_connections);
  return options;
}

int math_threads() { return int(std::clamp(std::thread::hardware_concurrency(), 1u, 64u)); }

}  // namespace

class Daemon::Parts {
 public:
  Parts(config::Config config, DaemonOptions options)
      : config_(std::move(config)),
        options_(std::move(options)),
        now_(options_.now ? options_.now : system_now),
        storage_(config_.store),
        ingestion_(networks_of(config_), assembler_options_of(config_), ingestion_ports()),
        status_(config_.networks.size()) {
    if (!config_.flows.empty())
      throw std::runtime_error("flows: listeners for flow records are not part of this version");
    if (!config_.notify.empty())
      throw std::runtime_error("notify: notifiers are not part of this version");
    for (const auto& network : config_.networks)
      models_.push_back(std::make_unique<Model>(network));
    recover();
    start_threads();
    start_api();
    for (const auto& listener : config_.matrices) start_listener(listener);
  }

  ~Parts() {
    // Threads end before what they use; nothing of theirs reaches the network thread any more.
    lanes_.reset();
    commit_.reset();
    disk_.reset();
  }

  void run() {
    if (options_.handle_signals) {
      std::signal(SIGPIPE, SIG_IGN);  // both are told as errors of the write itself
      std::signal(SIGXFSZ, SIG_IGN);
      wait_for_signal();
    }
    tick();
    housekeeping();
    beat();
    service_manager::ready();
    log::info("started", {{"version", kVersion},
                          {"http", std::to_string(server_->port())},
                          {"networks", std::to_string(config_.networks.size())}});
    io_.run();
    log::info("stopped");
  }

  void request_stop() {
    asio::post(io_, [this] { stop(); });
  }

  std::uint16_t http_port() const { return server_->port(); }
  std::uint16_t matrix_port(std::size_t k) const { return listeners_.at(k).listener->port(); }

 private:
  struct Listener {
    std::unique_ptr<api::Tokens> tokens;
    std::unique_ptr<ingest::MatrixListener> listener;
    config::MatrixListener settings;
  };

  Ingestion::Ports ingestion_ports() {
    return {now_,
            [this](std::vector<std::byte> record, Ingestion::Ports::Journaled done) {
              commit_->submit(std::move(record), std::move(done));
            },
            [this] { return commit_->pending_bytes(); },
            [this](std::size_t network, std::shared_ptr<const ClosedBin> bin) {
              return process(network, std::move(bin));
            }};
  }

  // --- start -------------------------------------------------------------------------------

  void recover() {
    std::uint64_t beyond = 0;
    for (std::size_t k = 0; k < models_.size(); ++k) {
      const std::string& name = models_[k]->network()->name;
      const auto snapshot = storage_.load_snapshot(name);
      if (!snapshot) continue;
      beyond = std::max(beyond, snapshot->journal_position);
      const auto memory = models_[k]->restore(snapshot->state);
      if (!memory) {
        log::error("snapshot_refused", {{"network", name}, {"reason", memory.error()}});
        continue;
      }
      ingestion_.restore(k, *memory);
      status_[k].snapshot_through = memory->closed_through;
    }
    std::uint64_t slices = 0;
    storage_.replay([&](std::uint64_t position, std::span<const std::byte> bytes) {
      const auto record = ingest::decode_record(bytes, ingestion_.directory());
      if (!record) return;
      std::size_t network = 0;
      for (const ClosedBin& bin : ingestion_.replay(*record, position, network)) {
        if (const auto done = models_[network]->process(bin); done.report) {
          replayed_.push_back({models_[network]->network(), done.report});
          ++slices;
        }
        if (replayed_.size() >= 256) store_replayed();
      }
    });
    store_replayed();
    storage_.skip_to(beyond);
    if (slices > 0) log::info("journal_replayed", {{"slices", std::to_string(slices)}});
  }

  void store_replayed() {
    if (replayed_.empty()) return;
    if (const auto error = storage_.write(replayed_))
      throw std::runtime_error("cannot write the store: " + *error);
    replayed_.clear();
  }

  void start_threads() {
    disk_ = std::make_unique<worker::DiskThread>(
        [this](const auto& reports) { return storage_.write(reports); },
        [this](const std::optional<std::string>& error) {
          asio::post(io_, [this, error] { on_store_change(error); });
        },
        kMostUnstoredBytes);
    commit_ = std::make_unique<worker::GroupCommit>(
        io_.get_executor(), [this](const auto& records) { return append(records); },
        [this](const std::string& error, std::size_t records) {
          ++counters_.journal_failures;
          counters_.journal_failing = true;
          log::error("journal_failed", {{"reason", error}, {"records", std::to_string(records)}});
        });
    lanes_ = std::make_unique<worker::Lanes>(math_threads(), models_.size(), kLaneSlices);
  }

  void start_api() {
    history_ = std::make_unique<StoreHistory>(
        io_.get_executor(), storage_.database_path(),
        [this]() -> store::Store& { return storage_.database(); }, *disk_);
    live_ = std::make_unique<api::LiveState>(api::LiveOptions{}, now_);
    for (std::size_t k = 0; k < models_.size(); ++k)
      live_->add_network(*models_[k]->network(), settings_of(k));
    http_tokens_ = std::make_unique<api::Tokens>(
        tokens_of(config_.http.tokens_file, config_.http.allow_anonymous));
    api_ = std::make_unique<api::Api>(io_, *live_, *http_tokens_, api_ports());
    api_->recover([](const std::vector<std::string>& problems) {
      for (const std::string& problem : problems)
        log::warn("history_unread", {{"reason", problem}});
    });
    std::vector<std::string> names;
    for (const auto& model : models_) names.push_back(model->network()->name);
    history_->newest(names, [this](auto found) {
      for (auto& [network, report] : found) {
        const api::LiveNetwork* known = live_->network(network.name);
        if (known && known->network == network && !known->last_slice)
          live_->on_report(network.name, std::move(report));
      }
    });
    api::HttpOptions http;
    http.address = config_.http.listen.host;
    http.port = config_.http.listen.port;
    http.most_connections = std::size_t(config_.http.max_connections);
    http.body_time = http.handler_time = config_.http.request_timeout;
    if (config_.http.tls.enabled())
      http.tls = api::TlsFiles{config_.http.tls.certificate_file, config_.http.tls.key_file};
    server_ =
        std::make_unique<api::HttpServer>(io_, http, api_->dispatch(), [](std::string_view what) {
          log::error("http_failed", {{"reason", std::string(what)}});
        });
    if (const auto started = server_->start(); !started)
      throw std::runtime_error("http: " + started.error());
  }

  api::NetworkSettings settings_of(std::size_t k) const {
    const config::NetworkConfig& from = config_.networks[k];
    return {models_[k]->options(), int(from.lateness.count()), from.time_zone, from.sources};
  }

  api::ApiPorts api_ports() {
    api::ApiPorts ports;
    ports.version = kVersion;
    ports.history = history_.get();
    ports.slices = [this](api::IngestRequest request, std::function<void(api::IngestAnswer)> done) {
      http_ingest(ingestion_, std::move(request), std::move(done));
    };
    ports.flows = [](const api::IngestRequest&,
                     const std::function<void(api::IngestAnswer)>& done) {
      done({422, "flow records are not part of this version"});
    };
    ports.metrics = [this] { return metrics(); };
    ports.unhealthy = [] { return std::vector<std::string>(); };
    ports.unready = [this] { return unready(); };
    ports.backup = [this](const std::string& path, api::ApiPorts::BackupDone done) {
      history_->backup(path, std::move(done));
    };
    ports.reload = [this](std::function<void(std::vector<std::string>)> done) { done(reload()); };
    ports.most_ingest_bytes = config_.http.max_body;
    return ports;
  }

  void start_listener(const config::MatrixListener& settings) {
    Listener made{
        std::make_unique<api::Tokens>(tokens_of(settings.tokens_file, settings.allow_anonymous)),
        nullptr, settings};
    const api::Tokens* tokens = made.tokens.get();
    made.listener = std::make_unique<ingest::MatrixListener>(
        io_.get_executor(), listener_options_of(settings), tls_of(settings.tls),
        [this](std::string_view line, std::uint64_t number, ingest::MatrixListener::Answer answer) {
          return ingestion_.json(line, {},
                                 [number, answer = std::move(answer)](const Receipt& receipt) {
                                   answer(answer_of(receipt, number));
                                 });
        },
        [tokens](std::string_view token, bool loopback) {
          const auto identity = tokens->identify(token, loopback);
          return identity && identity->may(api::Role::kIngest);
        });
    listeners_.push_back(std::move(made));
  }

  // --- work --------------------------------------------------------------------------------

  worker::GroupCommit::Outcome append(const std::vector<worker::GroupCommit::Record>& records) {
    auto outcome = storage_.append(records);
    const std::uint64_t bytes = storage_.journal_bytes();
    asio::post(io_, [this, bytes, good = outcome.first_position.has_value()] {
      counters_.journal_bytes = bytes;
      if (!good) return;
      ++counters_.journal_syncs;
      if (counters_.journal_failing) log::info("journal_works_again");
      counters_.journal_failing = false;
    });
    return outcome;
  }

  // To the lane of the network; on_processed() follows on the network thread.
  bool process(std::size_t k, std::shared_ptr<const ClosedBin> bin) {
    const bool taken = lanes_->offer(k, [this, k, bin = std::move(bin)] {
      const Model::Processed done = models_[k]->process(*bin);
      if (done.report) disk_->store({models_[k]->network(), done.report});
      asio::post(io_, [this, k, done] { on_processed(k, done); });
    });
    if (taken) ++status_[k].in_math;
    return taken;
  }

  void on_processed(std::size_t k, const Model::Processed& done) {
    --status_[k].in_math;
    if (done.report) on_report(k, done);
    ingestion_.pump();
    if (stopping_) finish_when_idle();
  }

  void on_report(std::size_t k, const Model::Processed& done) {
    NetworkStatus& status = status_[k];
    ++status.processed;
    status.seconds += done.time.count();
    status.last_done = std::chrono::steady_clock::now();
    status.anomalies += done.report->anomalies.size();
    for (const EventUpdate& update : done.report->events)
      if (update.change == EventChange::kOpened) ++status.events_opened;
    api_->on_report(models_[k]->network()->name, SliceReport(*done.report));
  }

  void on_store_change(const std::optional<std::string>& error) {
    counters_.store_failing = error.has_value();
    if (error) {
      ++counters_.store_failures;
      log::error("store_failed", {{"reason", *error}});
    } else {
      log::info("store_works_again");
    }
  }

  void snapshot(std::size_t k) {
    const auto closed_through = ingestion_.assembler(k).closed_through();
    if (!closed_through || status_[k].snapshot_under_way || ingestion_.waiting(k) > 0) return;
    if (status_[k].snapshot_through == closed_through && !ingestion_.wants_snapshot(k)) return;
    auto memory = std::make_shared<BinAssembler::Memory>(ingestion_.memory(k));
    const std::uint64_t position = ingestion_.next_position();
    status_[k].snapshot_under_way = lanes_->offer(k, [this, k, memory, position] {
      auto state = std::make_shared<std::vector<std::byte>>(models_[k]->save(*memory));
      disk_->after_reports([this, k, memory, position, state] {
        const auto error = storage_.save_snapshot(models_[k]->network()->name, position,
                                                  *memory->closed_through, *state);
        asio::post(io_,
                   [this, k, memory, error] { on_snapshot(k, *memory->closed_through, error); });
      });
    });
  }

  void on_snapshot(std::size_t k, EpochSeconds closed_through,
                   const std::optional<std::string>& error) {
    status_[k].snapshot_under_way = false;
    if (error) {
      ++counters_.snapshot_failures;
      log::error("snapshot_failed", {{"network", models_[k]->network()->name}, {"reason", *error}});
    } else {
      ++status_[k].snapshots;
      status_[k].snapshot_through = closed_through;
      ingestion_.on_snapshot(k, closed_through);
      commit_->run([this, position = ingestion_.needed_position()] { storage_.trim(position); });
    }
    if (stopping_) finish_when_idle();
  }

  // --- time --------------------------------------------------------------------------------

  void tick() {
    if (stopping_) return;
    ingestion_.tick();
    const auto now = std::chrono::steady_clock::now();
    const bool due = now - last_snapshots_ >= config_.store.snapshot_every;
    if (due) last_snapshots_ = now;
    for (std::size_t k = 0; k < models_.size(); ++k)
      if (due || (ingestion_.wants_snapshot(k) && !counters_.journal_failing)) snapshot(k);
    tick_timer_.expires_after(1s);
    tick_timer_.async_wait([this](auto error) {
      if (!error) tick();
    });
  }

  void housekeeping() {
    if (stopping_) return;
    disk_->after_reports([this] {
      const std::uint64_t bytes = storage_.prune();
      asio::post(io_, [this, bytes] { counters_.store_file_bytes = bytes; });
    });
    housekeeping_timer_.expires_after(kHousekeeping);
    housekeeping_timer_.async_wait([this](auto error) {
      if (!error) housekeeping();
    });
  }

  void beat() {
    const auto interval = service_manager::watchdog_interval();
    if (!interval) return;
    service_manager::alive();
    watchdog_timer_.expires_after(*interval);
    watchdog_timer_.async_wait([this](auto error) {
      if (!error) beat();
    });
  }

  // --- questions ---------------------------------------------------------------------------

  std::vector<std::string> unready() const {
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

  std::string metrics() {
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
        status_[k].last_slice = live->last_slice;
      }
    }
    return metrics_text({kVersion, counters_, status_, ingestion_, listeners, server_->counters(),
                         api_->stream_clients()});
  }

  // What can be read again is; what is bad is named and the old stays in force.
  std::vector<std::string> reload() {
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
      } else if (*config != config_) {
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

  // --- stop --------------------------------------------------------------------------------

  void wait_for_signal() {
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

  void stop() {
    if (stopping_) return;
    log::info("stopping");
    service_manager::stopping();
    stopping_ = true;
    tick_timer_.cancel();
    housekeeping_timer_.cancel();
    open_doors_ = listeners_.size() + 1;
    for (Listener& one : listeners_) one.listener->stop([this] { door_closed(); });
    server_->stop(10s, [this] { door_closed(); });
  }

  void door_closed() {
    if (--open_doors_ == 0) finish_when_idle();
  }

  // Everything accepted is processed; then a last snapshot of each network; then the end.
  void finish_when_idle() {
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

  config::Config config_;
  DaemonOptions options_;
  std::function<EpochSeconds()> now_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();

  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  asio::signal_set signals_{io_, SIGINT, SIGTERM, SIGHUP};
  asio::steady_timer tick_timer_{io_}, housekeeping_timer_{io_}, watchdog_timer_{io_};

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

  bool stopping_ = false, finished_ = false, last_snapshot_asked_ = false;
  std::size_t open_doors_ = 0;
};

Daemon::Daemon(config::Config config, DaemonOptions options)
    : parts_(std::make_unique<Parts>(std::move(config), std::move(options))) {}
Daemon::~Daemon() = default;
void Daemon::run() { parts_->run(); }
void Daemon::stop() { parts_->request_stop(); }
std::uint16_t Daemon::http_port() const { return parts_->http_port(); }
std::uint16_t Daemon::matrix_port(std::size_t listener) const {
  return parts_->matrix_port(listener);
}

}  // namespace outlierd
