#include "daemon/worker/disk_thread.h"

#include <utility>

namespace outlierd::worker {
namespace {

constexpr std::size_t kMostReports = 256;  // of a group
constexpr std::size_t kMostGroupBytes = std::size_t{64} << 20;

std::size_t bytes_of(const SliceReport& report) {
  const std::size_t cells = report.observed.size() + report.expected.size() + report.low.size() +
                            report.high.size() + report.sparse.size() + report.score.size();
  return sizeof(SliceReport) + cells * sizeof(float) + report.anomalies.size() * sizeof(Anomaly) +
         report.events.size() * sizeof(EventUpdate);
}

std::shared_ptr<const SliceReport> thinned_copy(const SliceReport& report) {
  auto thin = std::make_shared<SliceReport>();
  thin->time = report.time;
  thin->warmup = report.warmup;
  thin->threshold = report.threshold;
  thin->anomalies = report.anomalies;
  thin->events = report.events;
  thin->open_events = report.open_events;
  thin->model = report.model;
  return thin;
}

}  // namespace

DiskThread::DiskThread(Write write, OnChange on_change, std::size_t max_bytes,
                       std::chrono::milliseconds retry)
    : write_(std::move(write)),
      on_change_(std::move(on_change)),
      max_bytes_(max_bytes),
      retry_(retry),
      thread_([this] { loop(); }) {}

DiskThread::~DiskThread() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
  room_.notify_all();
}

void DiskThread::store(ReportToStore report) {
  std::unique_lock lock(mutex_);
  room_.wait(lock, [this] { return bytes_ < max_bytes_ || failing_ || stop_; });
  const std::size_t bytes = bytes_of(*report.report);
  queue_.push_back({std::move(report), {}, bytes, false});
  bytes_ += bytes;
  if (bytes_ > max_bytes_) make_room();
  wake_.notify_one();
}

void DiskThread::make_room() {
  if (!failing_) return;
  for (Entry& entry : queue_) {
    if (bytes_ <= max_bytes_) return;
    if (!entry.report.report || entry.thin) continue;
    bytes_ -= entry.bytes;
    entry.report.report = thinned_copy(*entry.report.report);
    entry.bytes = bytes_of(*entry.report.report);
    entry.thin = true;
    bytes_ += entry.bytes;
    ++thinned_;
  }
}

void DiskThread::after_reports(Job job) {
  {
    const std::lock_guard lock(mutex_);
    queue_.push_back({{}, std::move(job), 0, false});
  }
  wake_.notify_one();
}

void DiskThread::run(Job job) {
  {
    const std::lock_guard lock(mutex_);
    urgent_.push_back(std::move(job));
  }
  wake_.notify_one();
}

bool DiskThread::failing() const {
  const std::lock_guard lock(mutex_);
  return failing_;
}

std::size_t DiskThread::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return bytes_;
}

std::uint64_t DiskThread::thinned() const {
  const std::lock_guard lock(mutex_);
  return thinned_;
}

// One group of reports from the front. They stay queued until they are written.
bool DiskThread::write_some(std::unique_lock<std::mutex>& lock) {
  std::vector<ReportToStore> group;
  std::size_t bytes = 0;
  for (const Entry& entry : queue_) {
    if (entry.job || group.size() == kMostReports || bytes > kMostGroupBytes) break;
    group.push_back(entry.report);
    bytes += entry.bytes;
  }
  lock.unlock();
  const std::optional<std::string> error = write_(group);
  lock.lock();
  if (!error)
    for (std::size_t k = 0; k < group.size(); ++k) {
      bytes_ -= queue_.front().bytes;
      queue_.pop_front();
    }
  if (failing_ != error.has_value()) {
    failing_ = error.has_value();
    lock.unlock();
    on_change_(error);
    lock.lock();
  }
  room_.notify_all();
  return !error;
}

void DiskThread::loop() {
  std::unique_lock lock(mutex_);
  while (true) {
    const auto has_work = [this] {
      return stop_ || !urgent_.empty() || (!queue_.empty() && !failing_);
    };
    if (failing_) {
      wake_.wait_for(lock, retry_, has_work);
    } else {
      wake_.wait(lock, has_work);
    }
    while (!urgent_.empty()) {
      const Job job = std::move(urgent_.front());
      urgent_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    }
    if (queue_.empty()) {
      if (stop_) return;
      continue;
    }
    if (queue_.front().job) {
      const Job job = std::move(queue_.front().job);
      queue_.pop_front();
      lock.unlock();
      job();
      lock.lock();
    } else if (const bool last_chance = stop_; !write_some(lock) && last_chance) {
      queue_.clear();  // the journal has what these came from
      return;
    }
  }
}

}  // namespace outlierd::worker
