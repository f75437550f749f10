#pragma once
// What the cells of a network do together (MODEL section 6 step 3 and e): a factorizer whose window
// is a day in `window` means, learned once a mean; every bin is set against its fixed factors,
// outliers taken out, with a noise of its own.
//
// Values are standardised; what is learned is the cleaned slice.

#include <cstdint>
#include <span>
#include <vector>

#include "core/detect/cell_parts.h"
#include "core/detect/lanes.h"
#include "core/detect/report.h"
#include "core/detect/state_stream.h"
#include "core/model/streaming_factorizer.h"

namespace outlierd::detect {

class LowRankView {
 public:
  LowRankView(const SliceShape& shape, const model::FactorizerOptions& options, int bin_seconds);

  // Sets a slice against the factors. Then, on any threads, expect() of all cells and
  // learn_noise().
  void project(const Slice& standard);
  // What the past and the other cells say of the cells of [begin, end).
  void expect(std::size_t begin, std::size_t end);
  // 0 before the factors are known.
  std::span<const float> expected() const { return expected_; }
  void learn_noise(const Slice& standard);

  // Cells of the slice without its outliers; when all have, end_bin().
  template <class At>
  void learn_at(At at, Lanes cleaned, LaneMask observed) {
    const Lanes sum = load(sum_.data(), at);
    store(sum_.data(), at, choose(observed, sum + cleaned, sum));
    store_bytes(count_.data(), at, load_bytes(count_.data(), at) - observed);
  }
  void end_bin(model::ThreadTeam& team);
  bool warm() const { return factorizer_.warm(); }
  ModelSummary summary() const;
  double evidence_bound() { return factorizer_.evidence_bound(); }
  void exchange(StateStream& stream);

 private:
  void exchange_factorizer(StateStream& stream);

  SliceShape shape_;
  model::StreamingFactorizer factorizer_;
  int bins_a_mean_;
  std::int32_t bins_ = 0;  // in the mean at hand
  double variance_ = 0.0;  // of a bin against the projection
  std::vector<float> sum_;
  std::vector<std::uint8_t> count_;
  std::vector<float> expected_;
  bool projected_ = false;  // the slice at hand
  Slice mean_;
  ModelSummary summary_;
};

}  // namespace outlierd::detect
