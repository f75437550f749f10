#include <algorithm>
#include <boost/asio/post.hpp>
#include <csignal>
#include <map>
#include <stdexcept>
#include <thread>

#include "daemon/api/http_transport.h"
#include "daemon/daemon_parts.h"
#include "daemon/dashboard/dashboard.h"
#include "daemon/flow_http.h"
#include "daemon/http_ingest.h"
#include "daemon/log.h"
#include "daemon/service_manager.h"

namespace outlierd {
namespace {

namespace asio = boost::asio;

constexpr std::size_t kLaneSlices = 8;                             // queued of one network
constexpr std::size_t kMostUnstoredBytes = std::size_t{64} << 20;  // reports waiting for the disk

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

Daemon::Parts::Parts(config::Config config, DaemonOptions options)
    : config_(std::move(config)),
      options_(std::move(options)),
      now_(options_.now ? options_.now : system_now),
      storage_(config_.store),
      ingestion_(networks_of(config_), assembler_options_of(config_), ingestion_ports()),
      status_(config_.networks.size()) {
  for (const auto& network : config_.networks) models_.push_back(std::make_unique<Model>(network));
  recover();
  start_threads();
  start_flows();
  start_notifiers();
  start_api();
  for (const auto& listener : config_.matrices) start_listener(listener);
  flows_->on_operational([this](const OperationalEvent& event) { api_->on_operational(event); });
  flows_->start();
}

Daemon::Parts::~Parts() {
  // Threads end before what they use; nothing of theirs reaches the network thread any more.
  flows_.reset();
  notifiers_.reset();
  lanes_.reset();
  commit_.reset();
  disk_.reset();
}

void Daemon::Parts::run() {
  if (options_.handle_signals) {
    std::signal(SIGPIPE, SIG_IGN);  // both are told as errors of the write itself
    std::signal(SIGXFSZ, SIG_IGN);
    for (int signal : {SIGINT, SIGTERM, SIGHUP}) signals_.add(signal);
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

void Daemon::Parts::request_stop() {
  asio::post(io_, [this] { stop(); });
}

Ingestion::Ports Daemon::Parts::ingestion_ports() {
  return {now_,
          [this](std::vector<std::byte> record, Ingestion::Ports::Journaled done) {
            commit_->submit(std::move(record), std::move(done));
          },
          [this] { return commit_->pending_bytes(); },
          [this](std::size_t network, std::shared_ptr<const ClosedBin> bin) {
            return process(network, std::move(bin));
          }};
}

void Daemon::Parts::recover() {
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

void Daemon::Parts::store_replayed() {
  if (replayed_.empty()) return;
  if (const auto error = storage_.write(replayed_))
    throw std::runtime_error("cannot write the store: " + *error);
  replayed_.clear();
}

void Daemon::Parts::start_threads() {
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

void Daemon::Parts::start_api() {
  history_ = std::make_unique<StoreHistory>(
      io_.get_executor(), storage_.database_path(),
      [this]() -> store::Store& { return storage_.database(); }, *disk_);
  live_ = std::make_unique<api::LiveState>(api::LiveOptions{}, now_);
  for (std::size_t k = 0; k < models_.size(); ++k)
    live_->add_network(*models_[k]->network(), settings_of(k));
  http_tokens_ = std::make_unique<api::Tokens>(
      tokens_of(config_.http.tokens_file, config_.http.allow_anonymous));
  api_ = std::make_unique<api::Api>(io_, *live_, *http_tokens_, api_ports());
  api_->recover([this](const std::vector<std::string>& problems) {
    for (const std::string& problem : problems) log::warn("history_unread", {{"reason", problem}});
    history_complete_ = problems.empty();
    notifiers_->begin(known_events());
  });
  std::vector<std::string> names;
  std::map<std::string, std::vector<Event>> pending;  // the store does not have them
  for (const auto& model : models_) {
    names.push_back(model->network()->name);
    pending[names.back()] = model->pending_events();
  }
  history_->newest(names, [this, pending = std::move(pending)](auto found) mutable {
    for (auto& [network, report] : found) {
      const api::LiveNetwork* known = live_->network(network.name);
      report.pending = std::move(pending[network.name]);
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

api::NetworkSettings Daemon::Parts::settings_of(std::size_t k) const {
  const config::NetworkConfig& from = config_.networks[k];
  return {models_[k]->options(), int(from.lateness.count()), from.time_zone, from.sources,
          from.detection.method};
}

api::ApiPorts Daemon::Parts::api_ports() {
  api::ApiPorts ports;
  ports.version = kVersion;
  ports.history = history_.get();
  ports.slices = [this](api::IngestRequest request, std::function<void(api::IngestAnswer)> done) {
    http_ingest(ingestion_, std::move(request), std::move(done));
  };
  ports.flows = [this](api::IngestRequest request,
                       const std::function<void(api::IngestAnswer)>& done) {
    flow_http(*flows_, std::move(request), done);
  };
  ports.exporters = [this] {
    std::vector<api::ExporterRecord> all;
    for (const auto& network : flows_->networks())
      for (const auto& [address, facts] : network->bins().book().exporters())
        all.push_back({network->network().name, &facts, network->nodes_of(facts)});
    return all;
  };
  ports.operational_events = [this] {
    std::vector<const OperationalEvent*> all;
    for (const auto& network : flows_->networks())
      for (const OperationalEvent& one : network->operational().all()) all.push_back(&one);
    return all;
  };
  ports.behind = [this](const std::string& event) { return flows_->behind_event(event); };
  ports.metrics = [this] { return metrics(); };
  ports.unhealthy = [] { return std::vector<std::string>(); };
  ports.unready = [this] { return unready(); };
  ports.event_changed = [this](const api::EventRecord& event) {
    notifiers_->on_events({notice_of(event)});
  };
  ports.notify_test = [this](api::ApiPorts::NotifyTestDone done) {
    test_notifiers(std::move(done));
  };
  ports.backup = [this](const std::string& path, api::ApiPorts::BackupDone done) {
    history_->backup(path, std::move(done));
  };
  ports.reload = [this](std::function<void(std::vector<std::string>)> done) { done(reload()); };
  for (dashboard::File& file : dashboard::files())
    ports.files[file.path] = {file.content_type, file.plain, file.gzip, file.immutable};
  ports.most_ingest_bytes = config_.http.max_body;
  return ports;
}

void Daemon::Parts::start_flows() {
  flows_ =
      std::make_unique<FlowIntake>(io_.get_executor(), config_, ingestion_, storage_.load_flows());
}

void Daemon::Parts::start_listener(const config::MatrixListener& settings) {
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

}  // namespace outlierd
