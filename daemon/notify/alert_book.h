#pragma once
// What one receiver has been told and what it has yet to be told: one entry an event, which makes
// it the queue as well. An event that opens and closes while the receiver is away is told twice
// (firing, resolved), however often it changed between.
//
//   opened -> firing -> (again and again, where the receiver wants that) -> resolved -> forgotten
//
// Pure but for the clock it is told. What must survive is said by take_changes().

#include <set>
#include <string>
#include <vector>

#include "daemon/notify/alert.h"

namespace outlierd::notify {

struct BookOptions {
  bool repeats = false;  // firing is sent again while it lasts, with all that is new
  EpochSeconds resend = 60;
  // Resolved follows firing by so much: Alertmanager tells nobody of what ended before it looked.
  EpochSeconds shown_at_least = 0;
  std::size_t most_queued = 10000;
};

enum class Telling { kFiring, kUpdated, kRepeated, kResolved };

struct Due {
  std::string id;
  Telling telling = Telling::kFiring;
  Alert alert;
};

class AlertBook {
 public:
  explicit AlertBook(BookOptions options) : options_(options) {}

  // From the disk, before anything else. What cannot be read is left out: false.
  bool restore(const std::string& key, const std::string& value);
  // Once, when the store has said what events there are: the newest, and all that are open.
  // complete: no open event is missing.
  void begin(const std::vector<EventNotice>& events, bool complete, EpochSeconds now);
  bool begun() const { return begun_; }
  // An event has opened, changed or closed, or may have been silenced. Only after begin().
  void on_event(const EventNotice& event);

  // What is to be sent now, oldest first, at most so many; none twice.
  std::vector<Due> due(EpochSeconds now, std::size_t most) const;
  // When something will be, if nothing happens; none: never.
  std::optional<EpochSeconds> next_due(EpochSeconds now) const;
  void delivered(const Due& sent, EpochSeconds now);
  void postpone(const std::string& id);  // to the end of the queue

  // Keys and values to keep on disk; an empty value: the key goes.
  std::map<std::string, std::string> take_changes();
  std::map<std::string, std::string> everything() const;

  std::size_t queued() const;  // what has to be told, repetitions not counted
  std::uint64_t dropped() const { return dropped_; }

 private:
  struct Entry {
    std::uint64_t place = 0;  // in the queue
    Words labels;
    EventNotice event;
    EpochSeconds told = 0, last_sent = 0;  // 0: never
    bool changed = false;                  // in a way that is worth a message
  };
  struct Mark {  // the newest opening that was taken in of a network
    EpochSeconds opened = 0;
    std::set<std::string> ids;  // of that very time
  };

  std::optional<std::pair<Telling, EpochSeconds>> next_of(const Entry& entry) const;
  bool waits(const Entry& entry) const;
  Entry& add(const EventNotice& event);
  void note(const EventNotice& event);
  void forget(const std::string& id);
  void bound();
  std::string value_of(const std::string& key) const;

  const BookOptions options_;
  std::map<std::string, Entry> entries_;
  std::map<std::string, Mark> marks_;  // by network
  std::set<std::string> changes_;      // keys
  std::uint64_t next_place_ = 1, dropped_ = 0;
  bool begun_ = false, restored_ = false;
};

}  // namespace outlierd::notify
