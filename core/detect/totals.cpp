#include "core/detect/totals.h"

#include <algorithm>
#include <cmath>

namespace outlierd {

SliceTotal total_of(const SliceReport& report, std::size_t metrics, std::size_t metric) {
  SliceTotal sum{0.0, 0.0}, total;
  bool any_observed = false, any_expected = false;
  for (std::size_t cell = metric; cell < report.observed.size(); cell += metrics) {
    if (std::isnan(report.observed[cell])) continue;
    any_observed = true;
    sum.observed += report.observed[cell];
    const bool predicted = cell < report.expected.size() && !std::isnan(report.expected[cell]);
    any_expected = any_expected || predicted;
    sum.expected += predicted ? report.expected[cell] : report.observed[cell];
  }
  if (any_observed) total.observed = sum.observed;
  if (any_expected) total.expected = sum.expected;
  return total;
}

TotalBand::Band TotalBand::next(const SliceTotal& total, double threshold) {
  constexpr double kSigmaOfMedian = 1.4826;  // of a normal distribution
  Band band;
  if (sorted_.size() >= kFewest) {
    const double reach = std::exp(threshold * kSigmaOfMedian * sorted_[sorted_.size() / 2]);
    band = {total.expected / reach, total.expected * reach};
  }
  if (!(total.observed > 0.0 && total.expected > 0.0)) return band;  // NaN too
  const double off = std::abs(std::log(total.observed / total.expected));
  newest_.push_back(off);
  sorted_.insert(std::upper_bound(sorted_.begin(), sorted_.end(), off), off);
  if (newest_.size() <= kSlices) return band;
  sorted_.erase(std::lower_bound(sorted_.begin(), sorted_.end(), newest_.front()));
  newest_.pop_front();
  return band;
}

}  // namespace outlierd
