#pragma once
// A progress bar on standard error for what takes longer than two seconds; nothing where that is
// not a terminal.

#include <functional>
#include <ostream>
#include <string>

#include "daemon/ctl/session.h"

namespace outlierd::ctl {

// "  42% [########            ] 1,234 bins, 617 bins/s, 3 s left"; fraction NaN: no bar, no end.
std::string render_progress(double fraction, double count, const std::string& unit, double seconds,
                            int width);

double steady_seconds();  // of the steady clock

class Progress {
 public:
  Progress(std::ostream& out, const Terminal& terminal, std::string unit,
           std::function<double()> clock = steady_seconds);
  ~Progress() { clear(); }
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  // Cheap enough for every row: draws at most ten times a second.
  void update(double fraction, double count);
  void clear();  // before something else is printed, and at the end
  double seconds() const { return clock_() - begin_; }

 private:
  std::ostream& out_;
  bool shown_;
  int width_;
  std::string unit_;
  std::function<double()> clock_;
  double begin_, last_drawn_;
  bool drawn_ = false;
};

std::string with_thousands(double count);  // 1,234,567; rounds to whole

}  // namespace outlierd::ctl
