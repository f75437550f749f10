#include "daemon/worker/group_commit.h"

#include <boost/asio/post.hpp>
#include <utility>

namespace outlierd::worker {

GroupCommit::GroupCommit(boost::asio::any_io_executor network, Append append, OnFailure on_failure)
    : network_(std::move(network)),
      append_(std::move(append)),
      on_failure_(std::move(on_failure)),
      thread_([this] { run(); }) {}

GroupCommit::~GroupCommit() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  wake_.notify_all();
}

void GroupCommit::submit(Record record, Done done) {
  {
    const std::lock_guard lock(mutex_);
    next_.bytes += record.size();
    pending_bytes_ += record.size();
    next_.records.push_back(std::move(record));
    next_.done.push_back(std::move(done));
  }
  wake_.notify_one();
}

void GroupCommit::run(std::function<void()> job) {
  {
    const std::lock_guard lock(mutex_);
    next_.jobs.push_back(std::move(job));
  }
  wake_.notify_one();
}

std::size_t GroupCommit::pending_bytes() const {
  const std::lock_guard lock(mutex_);
  return pending_bytes_;
}

void GroupCommit::run() {
  std::unique_lock lock(mutex_);
  while (true) {
    wake_.wait(lock, [this] { return stop_ || !next_.records.empty() || !next_.jobs.empty(); });
    if (next_.records.empty() && next_.jobs.empty()) return;
    Group group = std::exchange(next_, {});
    lock.unlock();
    if (!group.records.empty()) {
      const Outcome outcome = append_(group.records);
      {
        const std::lock_guard counted(mutex_);
        pending_bytes_ -= group.bytes;
      }
      boost::asio::post(
          network_, [done = std::move(group.done), outcome, on_failure = on_failure_] {
            if (!outcome.first_position) on_failure(outcome.error, done.size());
            for (std::size_t k = 0; k < done.size(); ++k)
              if (done[k])
                done[k](outcome.first_position ? std::optional(*outcome.first_position + k)
                                               : std::nullopt);
          });
    }
    for (const auto& job : group.jobs) job();
    lock.lock();
  }
}

}  // namespace outlierd::worker
