#pragma once
// How long to wait after a failure: twice as long each time up to a bound, and by chance half as
// much again or half as little, so that many daemons do not come back at once.

#include <algorithm>
#include <chrono>
#include <random>

namespace outlierd::notify {

class Backoff {
 public:
  using Milliseconds = std::chrono::milliseconds;
  Backoff(Milliseconds first, Milliseconds most, std::uint64_t seed)
      : first_(first), most_(most), next_(first), random_(seed) {}

  Milliseconds failed() {
    const double factor = std::uniform_real_distribution<double>(0.5, 1.5)(random_);
    const Milliseconds wait(long(double(next_.count()) * factor));
    next_ = std::min(most_, next_ * 2);
    return wait;
  }
  void succeeded() { next_ = first_; }

 private:
  Milliseconds first_, most_, next_;
  std::mt19937_64 random_;
};

}  // namespace outlierd::notify
