#pragma once
// Splits each traffic slice into a slowly moving low-rank part, sparse outliers and noise:
//
//   Y_t = L_t + S_t + E_t,   L_t[i_1..i_N] = sum_r c_t[r] prod_n A^n[i_n, r]     docs/model.md, M1
//
// The factors A^n are shared by the slices of a window and refined by each; c_t and S_t belong to
// slice t. How many components are in use is found, up to max_rank.
//
// Any unit: data are normalised by a power of two found at the cold start. Any mask. One object,
// one thread (it may keep a team of its own); same options and slices, same result, bit for bit. A
// warm slice allocates nothing. A slice that fails leaves the model as it was.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/model/options.h"
#include "core/traffic/slice.h"

namespace outlierd::model {

enum class SliceStatus {
  kConverged,         // L settled within tolerance, or c well within its own spread
  kIterationLimit,    // the bound on sweeps or rounds came first; the result is good all the same
  kWarmingUp,         // gathered, or not yet predictable: too few slices, or only zeros so far
  kNothingObserved,   // no cell was observed: nothing learned, the window stays
  kBadInput,          // another shape, or an observed cell NaN or too large to square: refused
  kNumericalFailure,  // no finite answer: refused, the model is as it was
};
const char* name_of(SliceStatus status);

// What the model says of one slice, cell by cell, in the unit of the data. Where the model cannot
// predict (kWarmingUp, kBadInput, kNumericalFailure) the arrays are NaN.
struct SliceResult {
  SliceStatus status = SliceStatus::kWarmingUp;
  std::vector<double> expected;       // E[L_t], every cell, observed or not
  std::vector<double> spread;         // sqrt(Var[L_t] + 1 / tau): of a new value of that cell
  std::vector<double> sparse;         // E[S_t]; zero where not observed
  std::vector<double> sparse_spread;  // sqrt(Var[S_t])
  int rank = 0;                       // effective rank: components in use
  double noise_precision = 0.0;       // E[tau], per squared unit of the data
  int iterations = 0;                 // rounds of the projection
};

// What learning a slice came to.
struct Learned {
  SliceStatus status = SliceStatus::kWarmingUp;
  int iterations = 0;  // sweeps
  int rank = 0;
  double noise_precision = 0.0;
};

struct Component {
  double strength = 0.0;                      // as in component_strengths()
  std::vector<std::vector<double>> loadings;  // a mode each: its factor, of length one
};

class StreamingFactorizer {
 public:
  // Throws std::invalid_argument with options.problem() or problem_of(shape).
  StreamingFactorizer(SliceShape shape, FactorizerOptions options);
  ~StreamingFactorizer();
  StreamingFactorizer(StreamingFactorizer&&) noexcept;
  StreamingFactorizer& operator=(StreamingFactorizer&&) noexcept;

  // What the past says of this slice: A fixed, c_t and S_t fitted. Nothing is learned. The residual
  // values - expected of this call is what a detector scores. Valid until the next call.
  // noise_precision, if positive, stands in for the learned one (per squared unit of the data):
  // for slices noisier than those that were learned.
  const SliceResult& project(const Slice& slice, double noise_precision = 0.0);

  // Projects the slice, then learns it: sweeps of M3-M8 over the window.
  Learned update(const Slice& slice);

  // Of the last project() or update(): before anything was learned from that slice.
  const SliceResult& projection() const;
  // The newest learned slice after learning. Made on demand; valid until the next call.
  const SliceResult& fitted();

  const SliceShape& shape() const;
  const FactorizerOptions& options() const;
  bool warm() const;  // past the cold start
  std::int64_t slices_learned() const;
  double evidence_bound();  // M9 of the window as it stands; NaN before warm()
  std::vector<double> component_strengths() const;  // strongest first, in the unit of the data
  std::vector<Component> components() const;        // in the same order

  // The complete state: versioned, checksummed, little-endian bytes. A stream cut here and resumed
  // from them goes on bit for bit.
  std::vector<std::byte> save() const;
  // The other way, for slices of this shape; the reason if the bytes are not such a state. Shape,
  // rules, window and max_rank must be those of the saved one; the other options may differ.
  static tl::expected<StreamingFactorizer, std::string> restore(std::span<const std::byte> bytes,
                                                                SliceShape shape,
                                                                FactorizerOptions options);
  // The same from a state of another shape: from[n][i] says which row of mode n of the saved state
  // is now row i, -1 for one that was not there. Such a row begins as the prior has it and its past
  // is unobserved.
  static tl::expected<StreamingFactorizer, std::string> restore_rearranged(
      std::span<const std::byte> bytes, SliceShape saved_shape, SliceShape shape,
      const std::vector<std::vector<int>>& from, FactorizerOptions options);

 private:
  class State;
  explicit StreamingFactorizer(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace outlierd::model
