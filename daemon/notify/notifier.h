#pragma once
// One receiver: a thread with its own queue on disk, which sends, tries again, and repeats. Nothing
// that its receiver, its name server or its disk does is felt by anybody else.
//
// Members may be called from any one thread; nothing waits. The ports are called on the receiver's
// own thread. Destroyed: what was handed in is on disk, what is under way is dropped.

#include <atomic>
#include <chrono>
#include <filesystem>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "daemon/notify/alert.h"

namespace outlierd::notify {

enum class Kind { kAlertmanager, kWebhook, kSyslog };
enum class Transport { kTcp, kTls, kUdp, kUnix };

struct NotifierSettings {
  std::string name;  // as shown; holds no secret, and no other has it
  Kind kind = Kind::kAlertmanager;
  Transport transport = Transport::kTcp;  // kTls: https
  std::string host = {}, path = {};       // path: of a URL, or of a Unix socket
  std::uint16_t port = 0;
  std::string user_info = {}, token = {}, hmac_key = {};
  std::filesystem::path queue_file = {};
  std::chrono::seconds resend{60};  // to an Alertmanager; what fires ends after four of them
  std::chrono::milliseconds time_limit{10000};

  bool operator==(const NotifierSettings&) const = default;
};

struct NotifierCounters {
  std::atomic<std::uint64_t> sent{0}, failed{0}, dropped{0}, queued{0};
  std::atomic<EpochSeconds> last_success{0};  // 0: none yet
};

struct NotifierPorts {
  std::function<void(const std::string& name, const std::string& reason)> failed;
  std::function<void(const std::string& name)> works_again;
  std::function<void(const std::string& name, const std::string& reason)> queue_failed;
};

struct TestOutcome {
  std::string name;
  bool ok = false;
  std::string detail;  // what came back, or why nothing did
  double seconds = 0.0;
};

using Notices = std::shared_ptr<const std::vector<EventNotice>>;

class Notifier {
 public:
  Notifier(NotifierSettings settings, NotifierPorts ports);
  ~Notifier();

  const NotifierSettings& settings() const { return settings_; }
  // As AlertBook; what comes before begin() is not taken in.
  void begin(Notices events, bool complete);
  void on_events(Notices events);
  void test(std::function<void(TestOutcome)> done);
  const NotifierCounters& counters() const { return counters_; }

 private:
  class Loop;
  const NotifierSettings settings_;
  NotifierCounters counters_;
  std::unique_ptr<Loop> loop_;
};

}  // namespace outlierd::notify
