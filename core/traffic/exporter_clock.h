#pragma once
// How far an exporter's clock is off ours: of all datagrams of about two minutes the one that came
// soonest after it was stamped says most. What travel takes remains in it, and half of the stamp's
// granularity (a second in NetFlow v9 and IPFIX). Time is an argument; a plain value.

#include <algorithm>
#include <cstdint>
#include <optional>

namespace outlierd {

class ExporterClock {
 public:
  void saw(std::int64_t exported, std::int64_t received) {  // milliseconds since the epoch
    if (received - begun_ >= kWindow) {
      before_ = received - begun_ < 2 * kWindow ? now_ : kNothing;
      now_ = kNothing;
      begun_ = received;
    }
    now_ = std::min(now_, received - exported);
  }
  void merge(const ExporterClock& later) {
    if (later.now_ == kNothing && later.before_ == kNothing) return;
    if (later.begun_ - begun_ >= kWindow) {
      before_ = later.begun_ - begun_ < 2 * kWindow ? std::min(now_, later.before_) : later.before_;
      now_ = kNothing;
      begun_ = later.begun_;
    }
    now_ = std::min({now_, later.now_, later.before_});
  }
  // Its clock minus ours; positive: it is ahead.
  std::optional<std::int64_t> skew() const {
    const std::int64_t least = std::min(now_, before_);
    if (least == kNothing) return std::nullopt;
    return -least;
  }

 private:
  static constexpr std::int64_t kWindow = 60'000;
  static constexpr std::int64_t kNothing = INT64_MAX;
  std::int64_t begun_ = INT64_MIN / 4;               // of the window
  std::int64_t now_ = kNothing, before_ = kNothing;  // least delay in this window and that before
};

}  // namespace outlierd
