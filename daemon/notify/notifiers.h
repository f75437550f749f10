#pragma once
// All receivers. What it is told goes to each of them; each does with it what it can.
// Net thread; the outcome of a test comes back through `post`.

#include "daemon/notify/notifier.h"

namespace outlierd::notify {

class Notifiers {
 public:
  using Post = std::function<void(std::function<void()>)>;  // runs it later on the net thread
  // Everything there is to know now.
  struct Known {
    Notices events;
    bool complete = false;
  };

  Notifiers(NotifierPorts ports, Post post) : ports_(std::move(ports)), post_(std::move(post)) {}

  // These from now on; those that stay as they are go on undisturbed. known: for those that are
  // new, once begin() has been called.
  void use(std::vector<NotifierSettings> settings, const Known& known);
  // The store has said what there is; once. Before, nothing is sent.
  void begin(const Known& known);
  bool begun() const { return begun_; }
  void on_events(std::vector<EventNotice> events);
  // Through every one of them, in their order.
  void test(std::function<void(std::vector<TestOutcome>)> done);

  const std::vector<std::unique_ptr<Notifier>>& all() const { return all_; }

 private:
  NotifierPorts ports_;
  Post post_;
  bool begun_ = false;
  std::vector<std::unique_ptr<Notifier>> all_;
};

}  // namespace outlierd::notify
