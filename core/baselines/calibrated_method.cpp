#include "core/baselines/calibrated_method.h"

#include <algorithm>

#include "core/baselines/residual_scores.h"
#include "core/baselines/z_method.h"
#include "core/detect/alarm_threshold.h"
#include "core/detect/event_tracker.h"
#include "core/detect/news.h"
#include "core/detect/sigma.h"

namespace outlierd::baselines {
namespace {

constexpr float kFurthest = 100.0f;  // spreads

class CalibratedMethod : public Method {
 public:
  CalibratedMethod(const Network& network, std::unique_ptr<Predictor> predictor,
                   const PipelineOptions& options)
      : network_(network),
        options_(options),
        predictor_(std::move(predictor)),
        scores_(network, options.detection.minimum_share),
        news_(cell_count(network.shape()), network.bin_seconds),
        threshold_(options.detection.false_alarms_per_day, network.bin_seconds,
                   cell_count(network.shape())),
        events_(network, options.detection.close_after_slices),
        deviation_(cell_count(network.shape()), 0.0f),
        known_(deviation_.size(), 0),
        is_flagged_(deviation_.size(), 0),
        run_(deviation_.size(), 0) {}

  bool finds_events() const override { return true; }
  std::vector<Event> open_events() const override { return events_.open_events(); }

  SliceReport process(const Slice& slice, EpochSeconds time, int local_offset) override {
    const Slice measured = measured_part(slice);
    const int local = second_of_day(time, local_offset);
    const Prediction& said = predictor_->process(measured, time, local);
    for (std::size_t cell = 0; cell < known_.size(); ++cell) {
      const float deviation = said.residual[cell] / said.spread[cell];
      known_[cell] = std::isfinite(deviation);
      deviation_[cell] = known_[cell] ? std::clamp(deviation, -kFurthest, kFurthest) : 0.0f;
    }
    const ResidualScores::Input input{deviation_,    known_, measured.values,
                                      said.expected, local,  is_flagged_};
    SliceReport report;
    report.time = time;
    report.threshold = double(threshold_.sigmas());
    report.expected = said.expected;
    flag(measured, scores_.score(input), report);
    scores_.learn(input);
    if (scored_cells_ > 0) threshold_.add(peak_);
    track(report);
    return report;
  }

 private:
  // Scores in sigmas; which cells are over the threshold, and since when.
  void flag(const Slice& measured, const std::vector<float>& tails, SliceReport& report) {
    report.observed.assign(tails.size(), kUnknown);
    report.score.assign(tails.size(), kUnknown);
    score_.assign(tails.size(), kUnknown);
    flagged_.clear();
    settled_.clear();
    peak_ = 0.0f;
    scored_cells_ = 0;
    for (std::size_t cell = 0; cell < tails.size(); ++cell) {
      is_flagged_[cell] = 0;
      if (!measured.observed[cell]) continue;
      report.observed[cell] = float(measured.values[cell]);
      if (!scores_.ready() || std::isnan(tails[cell])) continue;
      ++scored_cells_;
      const float sigmas = detect::quick_sigma_of_tail(std::abs(tails[cell]));
      score_[cell] = std::copysign(sigmas, tails[cell]);
      report.score[cell] = news_.weighed(cell, score_[cell]);
      const float news = std::abs(report.score[cell]);
      peak_ = std::max(peak_, news);
      const bool over = sigmas > threshold_.sigmas();
      run_[cell] = over ? std::min(run_[cell] + 1, options_.model.level_slices + 1) : 0;
      if (!over) continue;
      if (news > threshold_.sigmas()) flagged_.push_back(std::uint32_t(cell));
      if (run_[cell] == options_.model.level_slices) settled_.push_back(std::uint32_t(cell));
      is_flagged_[cell] = run_[cell] < options_.model.level_slices;
    }
    detect::for_lanes(0, score_.size(),
                      [&](auto at) { news_.learn_at(at, detect::load(score_.data(), at)); });
  }

  void track(SliceReport& report) {
    report.events = events_.update({.time = report.time,
                                    .threshold = float(report.threshold),
                                    .observed = report.observed,
                                    .expected = report.expected,
                                    .score = report.score,
                                    .flagged = flagged_,
                                    .settled = settled_,
                                    .scored_cells = scored_cells_});
    report.open_events = int(events_.open_count());
    report.pending = events_.pending_events();
    const std::size_t nodes = network_.nodes.size(), metrics = network_.metrics.size();
    for (std::size_t k = 0; k < flagged_.size(); ++k) {
      const std::size_t cell = flagged_[k];
      Anomaly anomaly;
      anomaly.time = report.time;
      anomaly.origin = int(cell / metrics / nodes);
      anomaly.destination = int(cell / metrics % nodes);
      anomaly.metric = int(cell % metrics);
      anomaly.observed = double(report.observed[cell]);
      anomaly.expected = double(report.expected[cell]);
      anomaly.sparse = anomaly.observed - anomaly.expected;
      anomaly.score = double(std::abs(report.score[cell]));
      anomaly.up = report.score[cell] >= 0.0f;
      anomaly.event = events_.flagged_events()[k];
      report.anomalies.push_back(std::move(anomaly));
    }
  }

  Network network_;
  PipelineOptions options_;
  std::unique_ptr<Predictor> predictor_;
  ResidualScores scores_;
  detect::News news_;
  detect::AlarmThreshold threshold_;
  detect::EventTracker events_;
  std::vector<float> deviation_, score_;  // score_: in sigmas, before it is weighed by its news
  std::vector<std::uint8_t> known_, is_flagged_;
  std::vector<int> run_;  // slices in a row a cell was flagged
  std::vector<std::uint32_t> flagged_, settled_;
  float peak_ = 0.0f;
  std::size_t scored_cells_ = 0;
};

}  // namespace

std::unique_ptr<Method> make_calibrated_method(const Network& network,
                                               std::unique_ptr<Predictor> predictor,
                                               const PipelineOptions& options) {
  return std::make_unique<CalibratedMethod>(network, std::move(predictor), options);
}

}  // namespace outlierd::baselines
