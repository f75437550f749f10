#pragma once
// The journal thread: takes whatever records have come, makes them durable with one sync, and says
// so on the network thread, in order. While it syncs, the next group gathers.

#include <boost/asio/any_io_executor.hpp>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace outlierd::worker {

class GroupCommit {
 public:
  using Record = std::vector<std::byte>;
  // On the journal thread: all records durable, their first position; or the reason why not.
  struct Outcome {
    std::optional<std::uint64_t> first_position;
    std::string error;
  };
  using Append = std::function<Outcome(const std::vector<Record>&)>;
  // On the network thread: where the record stands, or nothing when it is not durable.
  using Done = std::function<void(std::optional<std::uint64_t> position)>;
  using OnFailure = std::function<void(const std::string& error, std::size_t records)>;

  GroupCommit(boost::asio::any_io_executor network, Append append, OnFailure on_failure);
  ~GroupCommit();  // what was submitted is still written; Done may not be called any more

  void submit(Record record, Done done);
  void run(std::function<void()> job);  // on the journal thread, after what was submitted before
  std::size_t pending_bytes() const;    // submitted and not yet written

 private:
  struct Group {
    std::vector<Record> records;
    std::vector<Done> done;
    std::vector<std::function<void()>> jobs;  // after the records
    std::size_t bytes = 0;
  };

  void run();

  boost::asio::any_io_executor network_;
  Append append_;
  OnFailure on_failure_;
  mutable std::mutex mutex_;
  std::condition_variable wake_;
  Group next_;
  std::size_t pending_bytes_ = 0;
  bool stop_ = false;
  std::jthread thread_;  // last: it ends before the rest goes
};

}  // namespace outlierd::worker
