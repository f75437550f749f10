#include "tests/bench/factorizer_bench.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <optional>
#include <random>
#include <stdexcept>

#include "core/model/packed.h"
#include "core/model/streaming_factorizer.h"
#include "tests/bench/resident.h"

namespace outlierd::bench {
namespace {

using model::FactorizerOptions;
using model::StreamingFactorizer;

constexpr int kRank = 10;
constexpr int kSlicesInHand = 24;  // more than the window, or the model would learn them by heart
constexpr int kPercents[] = {100, 95, 50};
constexpr int kThreads[] = {1, 2};

std::string name_of(const char* what, const FactorizerCase& at) {
  return std::string(what) + "/nodes:" + std::to_string(at.nodes) +
         "/observed:" + std::to_string(at.observed_percent) +
         "/threads:" + std::to_string(at.threads);
}

FactorizerOptions options_for(int threads) {
  FactorizerOptions options;
  options.max_rank = kRank;
  options.threads = threads;
  options.tolerance = 0.0;  // always two sweeps
  return options;
}

// A network of rank 10 with noise 20 dB below, and one cell in 1000 an outlier.
class Traffic {
 public:
  Traffic(int nodes, int observed_percent)
      : nodes_(nodes), observed_(observed_percent * 0.01), a_(factor()), b_(factor()) {}

  Slice next() {
    Slice slice({nodes_, nodes_});
    std::vector<double> c(kRank);
    for (double& value : c) value = normal_(random_);
    std::vector<double> x(kRank);
    std::size_t cell = 0;
    for (int i = 0; i < nodes_; ++i) {
      for (int r = 0; r < kRank; ++r) x[r] = a_[std::size_t(i) * kRank + r] * c[r];
      for (int j = 0; j < nodes_; ++j, ++cell) {
        double value = noise();
        for (int r = 0; r < kRank; ++r) value += x[r] * b_[std::size_t(j) * kRank + r];
        if (observed_ == 1.0 || uniform_(random_) < observed_) slice.set(cell, value);
      }
    }
    return slice;
  }

 private:
  std::vector<double> factor() {
    std::vector<double> values(std::size_t(nodes_) * kRank);
    for (double& value : values) value = normal_(random_);
    return values;
  }
  // Four uniforms are normal enough, and quick.
  double noise() {
    const double sigma = 0.1 * std::sqrt(double(kRank));
    const std::uint64_t bits = random_();
    double sum = 0.0;
    for (int k = 0; k < 4; ++k) sum += double(bits >> (16 * k) & 0xffff) / 65536.0 - 0.5;
    const double outlier = (bits >> 20 & 1023) == 0 ? 12.0 : 0.0;
    return sigma * (sum * std::sqrt(3.0) + outlier);
  }

  int nodes_;
  double observed_;
  std::mt19937_64 random_{7};
  std::normal_distribution<double> normal_;
  std::uniform_real_distribution<double> uniform_;
  std::vector<double> a_, b_;
};

// The factorizer at work; a case with the same data but other threads takes it over.
struct Bench {
  FactorizerCase at{};
  std::optional<StreamingFactorizer> factorizer;
  std::vector<Slice> slices;
  std::size_t next = 0;

  void prepare(const FactorizerCase& wanted) {
    if (factorizer && wanted.nodes == at.nodes && wanted.observed_percent == at.observed_percent) {
      if (wanted.threads != at.threads) {
        const std::vector<std::byte> state = factorizer->save();
        const SliceShape shape = factorizer->shape();
        factorizer.reset();
        auto restored = StreamingFactorizer::restore(state, shape, options_for(wanted.threads));
        if (!restored) throw std::runtime_error(restored.error());
        factorizer = std::move(*restored);
      }
      at = wanted;
      return;
    }
    factorizer.reset();
    slices.clear();
    at = wanted;
    Traffic traffic(at.nodes, at.observed_percent);
    factorizer.emplace(SliceShape{at.nodes, at.nodes}, options_for(at.threads));
    while (!factorizer->warm()) factorizer->update(traffic.next());
    for (int k = 0; k < kSlicesInHand; ++k) slices.push_back(traffic.next());
  }
  double input_megabytes() const {
    return double(slices.size()) * double(at.nodes) * at.nodes * 9 / (1 << 20);
  }
  const Slice& slice() { return slices[next++ % slices.size()]; }
};

Bench& bench() {
  static Bench one;
  return one;
}

std::map<std::string, double>& resident() {
  static std::map<std::string, double> by_name;
  return by_name;
}

double multiply_adds(const FactorizerCase& at) {
  const double rows = at.nodes, cells = rows * rows, window = FactorizerOptions{}.window;
  const double rank = kRank, packed = model::packed_size(kRank);
  const double factor_rows = 2 * rows + window;
  double count = 2 * cells * window * rank + (2 + window) * std::pow(rank, 3) +
                 factor_rows * (rank * rank + 2 * packed);
  if (at.observed_percent < 100)
    count += 2 * cells * window * packed + 3 * cells * packed + factor_rows * std::pow(rank, 3);
  return count;
}

}  // namespace

void register_factorizer_benchmarks(const std::vector<int>& nodes) {
  for (int size : nodes)
    for (int percent : kPercents)
      for (int threads : kThreads) {
        const FactorizerCase at{size, percent, threads};
        const std::string slice_name = name_of("warm_slice", at);
        const auto warm_slice = [at, slice_name](benchmark::State& state) {
          bench().prepare(at);
          for (auto _ : state) bench().factorizer->update(bench().slice());
          state.counters["rank"] = bench().factorizer->projection().rank;
          resident()[slice_name] = resident_megabytes() - bench().input_megabytes();
        };
        const auto projection = [at](benchmark::State& state) {
          bench().prepare(at);
          for (auto _ : state) bench().factorizer->project(bench().slice());
        };
        for (auto* registered :
             {benchmark::RegisterBenchmark(name_of("projection", at).c_str(), projection),
              benchmark::RegisterBenchmark(slice_name.c_str(), warm_slice)})
          registered->Unit(benchmark::kMicrosecond)->UseRealTime()->MinTime(0.2)->Repetitions(5);
      }
}

std::vector<FactorizerFigure> factorizer_figures(const std::map<std::string, double>& seconds,
                                                 const std::map<int, Limits>& limits) {
  std::vector<FactorizerFigure> figures;
  for (const auto& [name, slice_seconds] : seconds) {
    FactorizerCase at{};
    if (std::sscanf(name.c_str(), "warm_slice/nodes:%d/observed:%d/threads:%d", &at.nodes,
                    &at.observed_percent, &at.threads) != 3)
      continue;
    const auto projection = seconds.find(name_of("projection", at));
    if (projection == seconds.end()) continue;
    FactorizerFigure figure{at, slice_seconds, projection->second, multiply_adds(at), 0.0, 0.0,
                            0.0};
    const FactorizerOptions options;
    figure.bytes = 2.0 * 8.0 * options.window * double(at.nodes) * at.nodes;
    const Limits& limit = limits.at(at.threads);
    const double sweep_limit = std::max(2.0 * figure.multiply_adds / (limit.gemm_gflops * 1e9),
                                        figure.bytes / (limit.triad_gbs * 1e9));
    const double sweep_seconds = (slice_seconds - projection->second) / options.warm_sweeps;
    figure.fraction_of_limit = sweep_limit / sweep_seconds;
    figure.resident_megabytes = resident()[name_of("warm_slice", at)];
    figures.push_back(figure);
  }
  std::sort(figures.begin(), figures.end(), [](const auto& x, const auto& y) {
    return std::tuple(x.at.nodes, -x.at.observed_percent, x.at.threads) <
           std::tuple(y.at.nodes, -y.at.observed_percent, y.at.threads);
  });
  return figures;
}

}  // namespace outlierd::bench
