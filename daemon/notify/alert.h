#pragma once
// One event as receivers are told of it. Labels are its identity and stay what they were when it
// opened, whatever becomes of its shape; annotations say how it is now.
//
// Plain values and pure functions; times are seconds since the epoch.

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

namespace outlierd::notify {

using EpochSeconds = std::int64_t;
using Words = std::map<std::string, std::string>;  // sorted by name, as fingerprints want it

// What the daemon knows of an event.
struct EventNotice {
  std::string id, network, shape, direction, summary;
  EpochSeconds opened = 0, updated = 0;
  std::optional<EpochSeconds> closed;
  double peak_score = 0.0, excess = 0.0;
  std::string origins, destinations;  // names, separated by commas
  std::string acknowledged;           // by whom, with the comment; empty: nobody did
  bool silenced = false;

  bool operator==(const EventNotice&) const = default;
};

struct Alert {
  Words labels, annotations;
  EpochSeconds starts = 0;
  std::optional<EpochSeconds> ends;  // none: it fires

  bool firing() const { return !ends.has_value(); }
  bool operator==(const Alert&) const = default;
};

std::string_view severity_of(std::string_view shape);  // "critical" or "warning"
Words labels_of(const EventNotice& event);
Words annotations_of(const EventNotice& event);
// What `notify test` sends; it says itself that nothing is wrong.
Alert test_alert(EpochSeconds now);

std::string time_text(EpochSeconds time);  // RFC 3339, in UTC
// As Alertmanager computes it of labels: FNV-1a, 64 bits, as 16 hexadecimal digits.
std::string fingerprint(const Words& labels);

}  // namespace outlierd::notify
