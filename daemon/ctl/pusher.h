#pragma once
// Sends the rows of a traffic file to a daemon and hears what became of each: many unanswered at
// once (so that the daemon can commit them together), in order of time, at a chosen speed.
//
// A broken connection is opened again with growing delays, and what was not answered is sent again:
// safe, because a part is known by its source and sequence. What was not durable is sent again
// later. Runs on the caller's thread.

#include <cstddef>
#include <deque>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "daemon/ctl/connection.h"
#include "daemon/ctl/push_protocol.h"
#include "daemon/ctl/traffic_csv.h"

namespace outlierd::ctl {

struct PushOptions {
  Address to;
  ConnectionOptions connection;
  double bins_a_second = 0.0;         // 0: as fast as the daemon takes them
  std::optional<EpochSeconds> after;  // the daemon has everything up to this bin
  std::size_t window = 256;           // unanswered bins at most, and
  std::size_t window_bytes = 64 << 20;
  double first_delay_seconds = 0.1, longest_delay_seconds = 10.0;
  double answer_seconds = 30.0;   // without any answer the connection counts as broken
  double give_up_seconds = 60.0;  // without progress
};

struct PushSummary {
  std::size_t skipped = 0;  // not sent: the daemon had them when it was asked
  std::size_t sent = 0;     // bins, each once
  std::size_t accepted = 0;
  std::size_t already_there = 0;  // answered late, and older than what this run brought
  std::size_t late = 0;           // answered late although this run had brought the bins before
  std::size_t refused = 0;
  std::size_t resent = 0, connections = 0;
  double seconds = 0.0;
  std::string stopped;       // not empty: why it ended before the file did
  bool unreachable = false;  // and that is because of the connection
};

class Pusher {
 public:
  using Notice = std::function<void(const std::string&)>;
  using OnProgress = std::function<void(double fraction, std::size_t bins)>;

  Pusher(PushOptions options, std::unique_ptr<PushProtocol> protocol, TrafficReader& reader,
         Notice notice, OnProgress on_progress);

  PushSummary run();

 private:
  struct Bin {
    std::string message;
    EpochSeconds time = 0;
    std::size_t line = 0;
    bool unheard = false;     // sent before on a connection that broke
    double not_before = 0.0;  // of one that is sent again
  };

  bool connect();
  void fill();
  std::optional<Bin> next_bin(double now);
  std::optional<Bin> next_row(double now);
  void exchange();
  void take_answers();
  void judge(Bin bin, const PushAnswer& answer);
  void broken(const std::string& reason);
  void stop(std::string reason, bool unreachable = false);
  bool finished() const;
  double wait_seconds(double now) const;

  PushOptions options_;
  std::unique_ptr<PushProtocol> protocol_;
  TrafficReader& reader_;
  Notice notice_;
  OnProgress on_progress_;

  std::optional<Connection> connection_;
  std::string out_, in_;
  std::deque<Bin> unanswered_;  // in the order they were sent
  std::deque<Bin> again_;       // not heard of: before everything else
  std::deque<Bin> later_;       // not durable: when their time has come
  std::size_t held_bytes_ = 0;  // of all three
  TrafficRow row_;
  bool row_waits_ = false, file_ended_ = false;
  double begin_ = 0.0, last_answer_ = 0.0, last_progress_ = 0.0, delay_ = 0.0;
  double retry_delay_ = 0.0, retry_grows_at_ = 0.0;
  std::string file_error_;
  PushSummary summary_;
};

}  // namespace outlierd::ctl
