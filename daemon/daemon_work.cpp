#include <boost/asio/post.hpp>

#include "daemon/daemon_parts.h"
#include "daemon/log.h"
#include "daemon/service_manager.h"

namespace outlierd {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;

constexpr auto kHousekeeping = 60s;  // between prunings
constexpr auto kReminder = 5s;       // of open events, to notifiers

}  // namespace

worker::GroupCommit::Outcome Daemon::Parts::append(
    const std::vector<worker::GroupCommit::Record>& records) {
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
bool Daemon::Parts::process(std::size_t k, std::shared_ptr<const ClosedBin> bin) {
  const bool taken = lanes_->offer(k, [this, k, bin = std::move(bin)] {
    const Model::Processed done = models_[k]->process(*bin);
    if (done.report) disk_->store({models_[k]->network(), done.report});
    asio::post(io_, [this, k, done] { on_processed(k, done); });
  });
  if (taken) ++status_[k].in_math;
  return taken;
}

void Daemon::Parts::on_processed(std::size_t k, const Model::Processed& done) {
  --status_[k].in_math;
  if (done.report) on_report(k, done);
  ingestion_.pump();
  if (stopping_) finish_when_idle();
}

void Daemon::Parts::on_report(std::size_t k, const Model::Processed& done) {
  NetworkStatus& status = status_[k];
  ++status.processed;
  status.seconds += done.time.count();
  status.last_done = std::chrono::steady_clock::now();
  status.anomalies += done.report->anomalies.size();
  for (const EventUpdate& update : done.report->events)
    if (update.change == EventChange::kOpened) ++status.events_opened;
  flows_->on_report(k, *done.report);
  api_->on_report(models_[k]->network()->name, SliceReport(*done.report), done.time.count());
}

void Daemon::Parts::on_store_change(const std::optional<std::string>& error) {
  counters_.store_failing = error.has_value();
  if (error) {
    ++counters_.store_failures;
    log::error("store_failed", {{"reason", *error}});
  } else {
    log::info("store_works_again");
  }
}

void Daemon::Parts::snapshot(std::size_t k) {
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
      asio::post(io_, [this, k, memory, error] { on_snapshot(k, *memory->closed_through, error); });
    });
  });
}

void Daemon::Parts::on_snapshot(std::size_t k, EpochSeconds closed_through,
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

void Daemon::Parts::tick() {
  if (stopping_) return;
  flows_->tick();
  ingestion_.tick();
  const auto now = std::chrono::steady_clock::now();
  const bool due = now - last_snapshots_ >= config_.store.snapshot_every;
  if (due) last_snapshots_ = now;
  if (now - last_reminder_ >= kReminder) {
    last_reminder_ = now;
    remind_notifiers();
  }
  for (std::size_t k = 0; k < models_.size(); ++k)
    if (due || (ingestion_.wants_snapshot(k) && !counters_.journal_failing)) snapshot(k);
  tick_timer_.expires_after(1s);
  tick_timer_.async_wait([this](auto error) {
    if (!error) tick();
  });
}

void Daemon::Parts::housekeeping() {
  if (stopping_) return;
  disk_->after_reports([this] {
    const std::uint64_t bytes = storage_.prune();
    asio::post(io_, [this, bytes] { counters_.store_file_bytes = bytes; });
  });
  if (!flows_->doors().empty())
    disk_->after_reports([this, state = flows_->save(false)] {
      if (const auto error = storage_.save_flows(state))
        log::error("flow_state_failed", {{"reason", *error}});
    });
  housekeeping_timer_.expires_after(kHousekeeping);
  housekeeping_timer_.async_wait([this](auto error) {
    if (!error) housekeeping();
  });
}

void Daemon::Parts::beat() {
  const auto interval = service_manager::watchdog_interval();
  if (!interval) return;
  service_manager::alive();
  watchdog_timer_.expires_after(*interval);
  watchdog_timer_.async_wait([this](auto error) {
    if (!error) beat();
  });
}

}  // namespace outlierd
