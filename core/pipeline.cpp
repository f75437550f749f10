#include "core/pipeline.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <iterator>
#include <limits>
#include <stdexcept>

#include "core/pipeline_state.h"

namespace outlierd {
namespace {

constexpr float kUnknown = std::numeric_limits<float>::quiet_NaN();
constexpr int kDaySeconds = 86400;

Network checked(Network network) {
  if (network.nodes.empty()) throw std::invalid_argument("a network needs at least one node");
  if (network.metrics.empty()) throw std::invalid_argument("a network needs at least one metric");
  if (network.bin_seconds < 1) throw std::invalid_argument("a bin lasts at least one second");
  return network;
}

}  // namespace

Pipeline::State::State(Network watched, PipelineOptions chosen)
    : network(checked(std::move(watched))),
      options(chosen),
      detector(network, {chosen.model, chosen.detection.minimum_share, chosen.detection.without}),
      news(cell_count(network.shape()), network.bin_seconds,
           chosen.detection.without.has(detect::Part::kNews) ? 1.0f : detect::News::kAgain),
      threshold(chosen.detection.false_alarms_per_day, network.bin_seconds,
                cell_count(network.shape())),
      events(network, chosen.detection.close_after_slices),
      measured(network.shape()),
      parts(std::size_t(detect::parts_of(measured.values.size()))),
      score(measured.values.size(), kUnknown) {}

Pipeline::Pipeline(Network network, PipelineOptions options)
    : state_(std::make_unique<State>(std::move(network), options)) {}
Pipeline::Pipeline(std::unique_ptr<State> state) : state_(std::move(state)) {}
Pipeline::~Pipeline() = default;
Pipeline::Pipeline(Pipeline&&) noexcept = default;
Pipeline& Pipeline::operator=(Pipeline&&) noexcept = default;

const Network& Pipeline::network() const { return state_->network; }
const PipelineOptions& Pipeline::options() const { return state_->options; }
EpochSeconds Pipeline::last_time() const { return state_->last_time; }
std::vector<Event> Pipeline::open_events() const { return state_->events.open_events(); }
std::vector<Event> Pipeline::pending_events() const { return state_->events.pending_events(); }
double Pipeline::evidence_bound() { return state_->detector.evidence_bound(); }

SliceReport Pipeline::process(const Slice& slice, EpochSeconds time, int local_offset) {
  if (slice.shape != state_->network.shape() || slice.values.size() != cell_count(slice.shape) ||
      slice.observed.size() != slice.values.size())
    throw std::logic_error("a slice of another shape than its network");
  if (time <= state_->last_time) throw std::logic_error("a slice at or before the last one");
  return state_->process(slice, time, local_offset);
}

// What is no volume was not measured: NaN, infinite, negative, too large for a float.
void Pipeline::State::take(const Slice& slice) {
  detect::for_cells(
      detector.team(), measured.values.size(), [&](std::size_t begin, std::size_t end) {
        for (std::size_t cell = begin; cell < end; ++cell) {
          const double value = slice.values[cell];
          const bool seen = slice.observed[cell] && value >= 0.0 && value <= kLargestVolume;
          measured.observed[cell] = seen;
          measured.values[cell] = seen ? value : 0.0;
        }
      });
}

SliceReport Pipeline::State::process(const Slice& slice, EpochSeconds time, int local_offset) {
  take(slice);
  last_time = time;
  const std::int64_t local =
      (time % kDaySeconds + local_offset % kDaySeconds + 2 * kDaySeconds) % kDaySeconds;
  const detect::CellScores scores = detector.score(measured, int(local));

  SliceReport report;
  report.time = time;
  report.threshold = threshold.sigmas();
  make_columns(report);
  fill_scores(scores, report);
  fill_bands(scores, report);
  detector.learn(held);
  learn_news();
  report.warmup = detector.warmup();
  if (scored_cells > 0) threshold.add(peak);
  track(report);
  report.model = detector.model_summary();
  return report;
}

// New memory is cleared page by page as it is first touched: that too is shared out.
void Pipeline::State::make_columns(SliceReport& report) {
  std::vector<float>* const columns[] = {&report.observed, &report.expected, &report.score,
                                         &report.low,      &report.high,     &report.sparse};
  const std::size_t cells = measured.values.size();
  if (detect::parts_of(cells) == 1) {
    for (auto* column : columns) column->assign(cells, kUnknown);
    return;
  }
  detector.team().run(int(std::size(columns)), [&](int i) { columns[i]->assign(cells, kUnknown); });
}

// Scores in sigmas; which cells are over the threshold.
void Pipeline::State::fill_scores(const detect::CellScores& scores, SliceReport& report) {
  const std::size_t cells = measured.values.size();
  const bool ready = detector.ready();
  const auto limit = float(report.threshold);
  detect::for_parts(
      detector.team(), cells, cells, [&](int part, std::size_t begin, std::size_t end) {
        Scored& scored = parts[std::size_t(part)];
        scored.flagged.clear();
        scored.held.clear();
        scored.peak = 0.0f;
        scored.cells = 0;
        for (std::size_t cell = begin; cell < end; ++cell)
          report.observed[cell] = measured.observed[cell] ? float(measured.values[cell]) : kUnknown;
        std::copy(scores.expected.begin() + begin, scores.expected.begin() + end,
                  report.expected.begin() + begin);
        if (!ready) return;
        detect::quick_sigmas_of_tails(scores.tail.subspan(begin, end - begin),
                                      score.data() + begin);
        detect::for_lanes(begin, end, [&](auto at) {
          detect::store(report.score.data(), at,
                        news.weighed_at(at, detect::load(score.data(), at)));
        });
        for (std::size_t cell = begin; cell < end; ++cell) {
          const float sigmas = std::abs(report.score[cell]);
          scored.cells += !std::isnan(sigmas);
          scored.peak = sigmas > scored.peak ? sigmas : scored.peak;
          if (!(std::abs(score[cell]) > limit)) continue;
          scored.held.push_back(std::uint32_t(cell));
          if (sigmas > limit) scored.flagged.push_back(std::uint32_t(cell));
        }
      });
  flagged.clear();
  held.clear();
  peak = 0.0f;
  scored_cells = 0;
  for (const Scored& part : parts) {
    flagged.insert(flagged.end(), part.flagged.begin(), part.flagged.end());
    held.insert(held.end(), part.held.begin(), part.held.end());
    peak = std::max(peak, part.peak);
    scored_cells += part.cells;
  }
}

// The sparse part is what the cells that are not learned have beyond the expected.
void Pipeline::State::fill_bands(const detect::CellScores& scores, SliceReport& report) {
  const std::size_t cells = measured.values.size();
  const auto limit = float(report.threshold);
  const auto tail = float(detect::tail_of_sigma(limit));
  const float quiet = 0.99f * tail;  // quick_sigma_of_tail() is within 1e-3
  detect::for_cells(detector.team(), cells, [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell)
      if (measured.observed[cell]) report.sparse[cell] = 0.0f;
    if (!detector.ready()) return;
    detect::for_blocks(begin, end, [&](std::size_t from, std::size_t to) {
      detector.bands(from, to, tail, report.low.data(), report.high.data());
      for (std::size_t cell = from; cell < to; ++cell)
        if (news.told_lately(cell, limit)) widen(cell, report);
      detect::for_lanes(from, to, [&](auto at) { agree_at(at, scores.own_tail, quiet, report); });
    });
  });
  for (std::uint32_t cell : held) {
    float& sparse = report.sparse[cell];
    sparse = report.observed[cell] - report.expected[cell];
    if (sparse == 0.0f)
      sparse = std::copysign(std::numeric_limits<float>::min(), report.score[cell]);
  }
}

// The band of a cell that has been over the threshold of late: more of it is no news.
void Pipeline::State::widen(std::size_t cell, SliceReport& report) const {
  const auto bands_at = [&](bool up) {
    const float reach = news.reach(cell, float(report.threshold), up);
    detector.bands(cell, cell + 1, float(detect::tail_of_sigma(reach)), report.low.data(),
                   report.high.data());
  };
  bands_at(true);
  const float high = report.high[cell];
  bands_at(false);
  report.high[cell] = high;
}

void Pipeline::State::learn_news() {
  detect::for_cells(detector.team(), score.size(), [&](std::size_t begin, std::size_t end) {
    detect::for_lanes(begin, end,
                      [&](auto at) { news.learn_at(at, detect::load(score.data(), at)); });
  });
}

// The band, made to agree with the decision to the last bit: a cell that its own history flags is
// outside, any other inside.
template <class At>
void Pipeline::State::agree_at(At at, std::span<const float> own_tail, float quiet,
                               SliceReport& report) const {
  using detect::choose, detect::Lanes, detect::LaneMask;
  const Lanes own = detect::load(own_tail.data(), at),
              value = detect::load(report.observed.data(), at);
  const Lanes expected = detect::load(report.expected.data(), at),
              unknown = detect::splat(kUnknown);
  const LaneMask predicted = expected == expected, scored = own == own;
  const Lanes low = detect::load(report.low.data(), at),
              high = detect::load(report.high.data(), at);
  const auto put = [&](std::vector<float>& band, Lanes by_itself, Lanes with_value) {
    detect::store(band.data(), at,
                  choose(scored, with_value, choose(predicted, by_itself, unknown)));
  };
  put(report.low, low, detect::lowest(low, value));
  put(report.high, high, detect::highest(high, value));
  for (unsigned loud = detect::bits_of(detect::magnitude(own) > detect::splat(quiet)); loud != 0;
       loud &= loud - 1) {
    const auto lane = std::size_t(std::countr_zero(loud));
    const std::size_t cell = at.cell + lane;
    report.low[cell] = low[lane];
    report.high[cell] = high[lane];
    agree(cell, own[lane], report);
  }
}

void Pipeline::State::agree(std::size_t cell, float own, SliceReport& report) const {
  float& low = report.low[cell];
  float& high = report.high[cell];
  const float value = report.observed[cell];
  const float sigmas = std::copysign(detect::quick_sigma_of_tail(std::abs(own)), own);
  if (!(std::abs(news.weighed(cell, sigmas)) > float(report.threshold))) {
    low = std::min(low, value);
    high = std::max(high, value);
  } else if (own > 0.0f) {
    high = std::min(high, std::nextafter(value, -1.0f));
    low = std::min(low, high);
  } else {
    low = std::max(low, std::nextafter(value, std::numeric_limits<float>::infinity()));
    high = std::max(low, high);
  }
}

void Pipeline::State::track(SliceReport& report) {
  report.events = events.update({.time = report.time,
                                 .threshold = float(report.threshold),
                                 .observed = report.observed,
                                 .expected = report.expected,
                                 .score = report.score,
                                 .flagged = flagged,
                                 .settled = detector.settled(),
                                 .scored_cells = scored_cells});
  report.open_events = int(events.open_count());
  report.pending = events.pending_events();
  const std::size_t nodes = network.nodes.size(), metrics = network.metrics.size();
  for (std::size_t k = 0; k < flagged.size(); ++k) {
    const std::size_t cell = flagged[k];
    report.anomalies.push_back({.time = report.time,
                                .origin = int(cell / metrics / nodes),
                                .destination = int(cell / metrics % nodes),
                                .metric = int(cell % metrics),
                                .observed = report.observed[cell],
                                .expected = report.expected[cell],
                                .low = report.low[cell],
                                .high = report.high[cell],
                                .sparse = report.sparse[cell],
                                .score = std::abs(report.score[cell]),
                                .up = report.score[cell] >= 0.0f,
                                .event = events.flagged_events()[k]});
  }
}

}  // namespace outlierd
