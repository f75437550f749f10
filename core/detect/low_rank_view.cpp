#include "core/detect/low_rank_view.h"

#include <algorithm>
#include <cmath>

namespace outlierd::detect {
namespace {

constexpr int kDaySeconds = 86400;
constexpr int kSweeps = 3;
constexpr int kFirstMeans = 6;  // that the factors start from, of some seven hours
constexpr double kNoiseWeight = 0.02;

model::FactorizerOptions slow(model::FactorizerOptions options) {
  options.rules = model::Rules::kOutlierd;
  options.warm_sweeps = kSweeps;
  options.cold_start_slices = std::min(options.cold_start_slices, kFirstMeans);
  return options;
}

// The nodes with the loadings of greatest magnitude, greatest first.
std::vector<ModelComponent::Node> strongest(const std::vector<double>& loadings) {
  std::vector<ModelComponent::Node> nodes;
  for (std::size_t node = 0; node < loadings.size(); ++node)
    nodes.push_back({int(node), loadings[node]});
  const auto end = nodes.begin() + std::ptrdiff_t(std::min(nodes.size(), kMostComponentNodes));
  std::partial_sort(nodes.begin(), end, nodes.end(), [](const auto& x, const auto& y) {
    return std::abs(x.loading) > std::abs(y.loading);
  });
  nodes.erase(end, nodes.end());
  return nodes;
}

}  // namespace

LowRankView::LowRankView(const SliceShape& shape, const model::FactorizerOptions& options,
                         int bin_seconds)
    : shape_(shape),
      factorizer_(shape, slow(options)),
      bins_a_mean_(std::clamp(kDaySeconds / options.window / bin_seconds, 1, 255)),
      sum_(cell_count(shape), 0.0f),
      count_(sum_.size(), 0),
      expected_(sum_.size(), 0.0f),
      mean_(shape) {}

void LowRankView::project(const Slice& standard) {
  projected_ = false;
  if (!factorizer_.warm()) return;
  const model::SliceResult& result =
      factorizer_.project(standard, variance_ > 0.0 ? 1.0 / variance_ : 0.0);
  summary_.status = name_of(result.status);
  summary_.iterations = result.iterations;
  summary_.rank = result.rank;
  summary_.noise_precision = result.noise_precision;
  projected_ = result.status == model::SliceStatus::kConverged ||
               result.status == model::SliceStatus::kIterationLimit;
}

void LowRankView::expect(std::size_t begin, std::size_t end) {
  const double* said = factorizer_.projection().expected.data();
  float* expected = expected_.data();
  if (projected_) {
    for (std::size_t cell = begin; cell < end; ++cell) expected[cell] = float(said[cell]);
  } else {
    std::fill(expected + begin, expected + end, 0.0f);
  }
}

// The mean square of what is neither low-rank nor an outlier.
void LowRankView::learn_noise(const Slice& standard) {
  if (!projected_) return;
  const model::SliceResult& result = factorizer_.projection();
  double squares = 0.0, cells = 0.0;
  for (std::size_t cell = 0; cell < standard.values.size(); ++cell) {
    if (!standard.observed[cell] || result.sparse[cell] != 0.0) continue;
    const double rest = standard.values[cell] - double(float(result.expected[cell]));
    squares += rest * rest;
    cells += 1.0;
  }
  if (cells == 0.0) return;
  const double now = std::max(squares / cells, 1e-12);
  variance_ = variance_ > 0.0 ? variance_ + kNoiseWeight * (now - variance_) : now;
}

void LowRankView::end_bin(model::ThreadTeam& team) {
  if (++bins_ < bins_a_mean_) return;
  for_cells(team, sum_.size(), [&](std::size_t begin, std::size_t end) {
    for (std::size_t cell = begin; cell < end; ++cell) {
      mean_.observed[cell] = count_[cell] > 0;
      mean_.values[cell] = count_[cell] > 0 ? double(sum_[cell]) / count_[cell] : 0.0;
      sum_[cell] = 0.0f;
      count_[cell] = 0;
    }
  });
  bins_ = 0;
  factorizer_.update(mean_);
}

ModelSummary LowRankView::summary() const {
  ModelSummary summary = summary_;
  if (!factorizer_.warm()) return summary;
  summary.component_strengths = factorizer_.component_strengths();
  for (const model::Component& component : factorizer_.components())
    summary.components.push_back(
        {component.strength, strongest(component.loadings[0]), strongest(component.loadings[1])});
  return summary;
}

void LowRankView::exchange(StateStream& stream) {
  stream.number(bins_, 0, bins_a_mean_ - 1);
  stream.number(variance_, 0.0, 1e30);
  stream.per_cell(sum_);
  stream.per_cell(count_);
  stream.text(summary_.status, 64);
  stream.number(summary_.iterations);
  stream.number(summary_.rank);
  stream.number(summary_.noise_precision);
  exchange_factorizer(stream);
}

void LowRankView::exchange_factorizer(StateStream& stream) {
  std::uint64_t size = 0;
  if (!stream.reading()) {
    const std::vector<std::byte> bytes = factorizer_.save();
    size = bytes.size();
    stream.number(size);
    stream.bytes(bytes);
    return;
  }
  stream.number(size);
  const std::span<const std::byte> bytes = stream.take_bytes(size);
  if (stream.failed()) return;
  const Rearrangement& map = stream.map();
  if (map.same) {
    // Of another max_rank it begins anew, like that of another number of modes.
    auto restored = model::StreamingFactorizer::restore(bytes, shape_, factorizer_.options());
    if (restored) factorizer_ = std::move(*restored);
    return;
  }
  // With one metric a slice has two modes, with several three. From the one to the other it begins
  // anew: a day later it is there again.
  if ((map.old_metrics == 1) != (shape_.size() == 2)) return;
  const auto kept = [](int old) { return old >= 0; };
  if (std::none_of(map.node_from.begin(), map.node_from.end(), kept) ||
      std::none_of(map.metric_from.begin(), map.metric_from.end(), kept))
    return;
  SliceShape old_shape = {map.old_nodes, map.old_nodes};
  std::vector<std::vector<int>> from = {map.node_from, map.node_from};
  if (shape_.size() == 3) {
    old_shape.push_back(map.old_metrics);
    from.push_back(map.metric_from);
  }
  auto restored = model::StreamingFactorizer::restore_rearranged(bytes, old_shape, shape_, from,
                                                                 factorizer_.options());
  if (restored) factorizer_ = std::move(*restored);
}

}  // namespace outlierd::detect
