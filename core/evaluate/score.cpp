#include "core/evaluate/score.h"

#include <algorithm>
#include <cmath>

namespace outlierd::evaluate {
namespace {

constexpr long kBridge = 2;

// All scores of an event's cells, bin by bin.
std::vector<double> cells_of(const LabelledEvent& event, const Magnitudes& scores) {
  std::vector<double> cells;
  for (std::size_t bin = event.first_bin; bin < event.first_bin + event.bins; ++bin)
    for (std::size_t column : event.columns) cells.push_back(scores.at(bin, column));
  return cells;
}

std::string problem_of(const Labels& labels, const Magnitudes& clean, const Magnitudes& injected) {
  if (clean.columns != injected.columns || clean.rows() != injected.rows())
    return "the scores of the clean and the injected traffic differ in shape";
  if (labels.clean_until_bin > clean.rows() || !(labels.bin_seconds > 0.0))
    return "the labels are of another stretch than the scores";
  for (const LabelledEvent& event : labels.events) {
    if (event.bins == 0 || event.columns.empty()) return "a labelled event has no cells";
    if (event.first_bin + event.bins > clean.rows())
      return "a labelled event ends after the last bin";
    for (std::size_t column : event.columns)
      if (column >= clean.columns) return "a labelled event has a pair that is not in the scores";
  }
  return {};
}

}  // namespace

void Magnitudes::add(double score) { values.push_back(std::isnan(score) ? 0.0 : std::abs(score)); }

long alarms(std::span<const double> peaks, double threshold, long bins_an_hour) {
  long cost = 0, first = -1, last = -1;
  for (long bin = 0; bin < long(peaks.size()); ++bin) {
    if (peaks[std::size_t(bin)] <= threshold) continue;
    if (first < 0 || bin - last > kBridge + 1) {
      if (first >= 0) cost += 1 + (last - first) / bins_an_hour;
      first = bin;
    }
    last = bin;
  }
  return first < 0 ? cost : cost + 1 + (last - first) / bins_an_hour;
}

double threshold_for(std::span<const double> peaks, double budget, long bins_an_hour) {
  std::vector<double> levels(peaks.begin(), peaks.end());
  std::sort(levels.rbegin(), levels.rend());
  levels.erase(std::unique(levels.begin(), levels.end()), levels.end());
  double best = levels.empty() ? 0.0 : levels.front();
  for (double level : levels) {
    if (double(alarms(peaks, level, bins_an_hour)) > budget) break;
    best = level;
  }
  return best;
}

double area_under_curve(const std::vector<double>& positives, std::vector<double> negatives) {
  std::sort(negatives.begin(), negatives.end());
  double wins = 0.0;
  for (double positive : positives) {
    const auto [low, high] = std::equal_range(negatives.begin(), negatives.end(), positive);
    wins += double(low - negatives.begin()) + double(high - negatives.begin());
  }
  return wins / (2.0 * double(positives.size()) * double(negatives.size()));
}

tl::expected<SetOutcome, std::string> score_set(const Labels& labels, const Magnitudes& clean,
                                                const Magnitudes& injected,
                                                std::span<const double> alarms_a_day) {
  if (std::string problem = problem_of(labels, clean, injected); !problem.empty())
    return tl::unexpected(problem);
  const long hour = std::max(1L, std::lround(3600.0 / labels.bin_seconds));
  SetOutcome outcome;
  outcome.days = double(clean.rows() - labels.clean_until_bin) * labels.bin_seconds / 86400.0;
  std::vector<double> peaks;
  for (std::size_t row = labels.clean_until_bin; row < clean.rows(); ++row) {
    const auto begin = clean.values.begin() + std::ptrdiff_t(row * clean.columns);
    peaks.push_back(*std::max_element(begin, begin + std::ptrdiff_t(clean.columns)));
  }
  for (double budget : alarms_a_day)
    outcome.thresholds.push_back(threshold_for(peaks, budget * outcome.days, hour));

  for (const LabelledEvent& event : labels.events) {
    EventOutcome found{event.kind, 0.0, {}};
    const std::vector<double> hit = cells_of(event, injected), before = cells_of(event, clean);
    found.auc = area_under_curve(hit, before);
    const double most_before = *std::max_element(before.begin(), before.end());
    for (double threshold : outcome.thresholds) {
      const auto over =
          std::find_if(hit.begin(), hit.end(), [&](double score) { return score > threshold; });
      const bool is_found = over != hit.end() && most_before <= threshold;
      found.delay.push_back(is_found ? int((over - hit.begin()) / long(event.columns.size())) : -1);
    }
    outcome.events.push_back(std::move(found));
  }
  return outcome;
}

}  // namespace outlierd::evaluate
