#include "daemon/ctl/progress.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>

#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr double kQuietSeconds = 2.0;
constexpr double kSecondsBetween = 0.1;
constexpr int kBarWidth = 30;

}  // namespace

double steady_seconds() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

std::string with_thousands(double count) {
  std::string digits = fmt::format("{:.0f}", std::abs(count));
  for (auto place = std::ptrdiff_t(digits.size()) - 3; place > 0; place -= 3)
    digits.insert(std::size_t(place), ",");
  return (count < 0 ? "-" : "") + digits;
}

std::string render_progress(double fraction, double count, const std::string& unit, double seconds,
                            int width) {
  const double rate = seconds > 0 ? count / seconds : 0.0;
  std::string text =
      fmt::format("{} {}, {} {}/s", with_thousands(count), unit,
                  rate < 10 ? fmt::format("{:.1f}", rate) : with_thousands(rate), unit);
  if (std::isfinite(fraction)) {
    fraction = std::clamp(fraction, 0.0, 1.0);
    if (fraction > 0 && fraction < 1)
      text += ", " + format_duration(seconds * (1.0 - fraction) / fraction) + " left";
    const int room = std::min(kBarWidth, width - int(text.size()) - 9);
    std::string bar;
    if (room >= 5) {
      const int full = int(std::lround(fraction * room));
      bar = fmt::format("[{:#<{}}{:{}}] ", "", full, "", room - full);
    }
    text = fmt::format("{:3.0f}% {}{}", 100.0 * fraction, bar, text);
  }
  if (int(text.size()) >= width) text.resize(std::size_t(std::max(0, width - 1)));
  return text;
}

Progress::Progress(std::ostream& out, const Terminal& terminal, std::string unit,
                   std::function<double()> clock)
    : out_(out),
      shown_(terminal.error),
      width_(terminal.width),
      unit_(std::move(unit)),
      clock_(std::move(clock)),
      begin_(clock_()),
      last_drawn_(begin_ + kQuietSeconds - kSecondsBetween) {}

void Progress::update(double fraction, double count) {
  if (!shown_) return;
  const double now = clock_();
  if (now - last_drawn_ < kSecondsBetween) return;
  last_drawn_ = now;
  drawn_ = true;
  out_ << '\r' << render_progress(fraction, count, unit_, now - begin_, width_) << "\x1b[K"
       << std::flush;
}

void Progress::clear() {
  if (drawn_) out_ << "\r\x1b[K" << std::flush;
  drawn_ = false;
}

}  // namespace outlierd::ctl
