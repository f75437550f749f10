#pragma once
// How good scores are on injected anomalies, the same way for everyone: what eval/score.py
// computes, on the same scores.
//
// An episode of bins over the threshold (gaps of up to two bridged) costs one alarm, and one more
// for every further hour. The threshold of a budget is lowered from the top while the clean twin
// stays within it. An event is found when one of its own pairs is over it in its window, and was
// not in the clean twin. AUC: the event's injected cells against the same cells of the twin. Pure.

#include <cstddef>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

namespace outlierd::evaluate {

struct LabelledEvent {
  std::string kind;
  std::size_t first_bin = 0, bins = 0;
  std::vector<std::size_t> columns;
};

struct Labels {
  std::size_t clean_until_bin = 0;
  double bin_seconds = 300.0;
  std::vector<LabelledEvent> events;
};

// A row a bin; the magnitude of a score, 0 where there is none.
struct Magnitudes {
  std::size_t columns = 0;
  std::vector<double> values;

  std::size_t rows() const { return columns == 0 ? 0 : values.size() / columns; }
  double at(std::size_t row, std::size_t column) const { return values[row * columns + column]; }
  void add(double score);  // the next one; NaN: none
};

// Alarms that peaks, one a bin, cost at a threshold.
long alarms(std::span<const double> peaks, double threshold, long bins_an_hour);
double threshold_for(std::span<const double> peaks, double budget, long bins_an_hour);
double area_under_curve(const std::vector<double>& positives, std::vector<double> negatives);

struct EventOutcome {
  std::string kind;
  double auc = 0.0;
  std::vector<int> delay;  // bins until it was found, at each budget; -1: not found
};

struct SetOutcome {
  double days = 0.0;               // that count
  std::vector<double> thresholds;  // at each budget
  std::vector<EventOutcome> events;
};

// The reason if labels and scores do not fit together.
tl::expected<SetOutcome, std::string> score_set(const Labels& labels, const Magnitudes& clean,
                                                const Magnitudes& injected,
                                                std::span<const double> alarms_a_day);

}  // namespace outlierd::evaluate
