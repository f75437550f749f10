#pragma once
// What the cells of a network do together (MODEL section 6 step 3 and e): a factorizer whose window
// is a day in `window` means, learned once a mean; every bin is set against its fixed factors,
// outliers taken out, with a noise of its own.
//
// Values are standardised; what is learned is the cleaned slice.

#include <cstdint>
#include <vector>

#include "core/detect/report.h"
#include "core/detect/state_stream.h"
#include "core/model/streaming_factorizer.h"

namespace outlierd::detect {

class LowRankView {
 public:
  LowRankView(SliceShape shape, const model::FactorizerOptions& options, int bin_seconds);

  // What the past and the other cells say of each cell; 0 before the factors are known.
  const std::vector<float>& expected(const Slice& standard);
  const std::vector<float>& last_expected() const { return expected_; }
  // The slice without its outliers.
  void learn(const Slice& cleaned);
  bool warm() const { return factorizer_.warm(); }
  ModelSummary summary() const;
  double evidence_bound() { return factorizer_.evidence_bound(); }
  void exchange(StateStream& stream);

 private:
  void learn_noise(const Slice& standard);
  void exchange_factorizer(StateStream& stream);

  SliceShape shape_;
  model::StreamingFactorizer factorizer_;
  int bins_a_mean_;
  std::int32_t bins_ = 0;  // in the mean at hand
  double variance_ = 0.0;  // of a bin against the projection
  std::vector<float> sum_;
  std::vector<std::uint8_t> count_;
  std::vector<float> expected_;
  Slice mean_;
  ModelSummary summary_;
};

}  // namespace outlierd::detect
