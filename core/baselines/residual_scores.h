#pragma once
// The residuals of any predictor as a View of core/detect, and outlierd's own channels behind it:
// one tail score a cell.
//
// score() says it, learn() then takes the slice in. One object, one thread.

#include <array>
#include <span>
#include <vector>

#include "core/detect/channels.h"
#include "core/detect/view.h"

namespace outlierd::baselines {

class ResidualScores {
 public:
  ResidualScores(const Network& network, double minimum_share);

  struct Input {
    std::span<const float> deviation;       // of each cell, in spreads
    std::span<const std::uint8_t> known;    // 1 where it is
    std::span<const double> volume;         // observed
    std::span<const float> expected;        // in the unit of the data
    int second_of_day;                      // local
    std::span<const std::uint8_t> flagged;  // of learn(): cells over the threshold
  };
  // Signed -log10 of the rate; NaN where the deviation is not known.
  const std::vector<float>& score(const Input& input);
  void learn(const Input& input);
  bool ready() const { return bins_ >= kReadyBins; }

 private:
  static constexpr int kReadyBins = 20;

  detect::Channels::Input channels_input(const Input& input) const {
    return {views_, input.known, input.volume, centre_, scale_, input.second_of_day};
  }
  void learn_volume(const Input& input);

  model::ThreadTeam alone_{1};
  detect::Places places_;
  detect::View view_;
  std::array<const detect::View*, 1> views_ = {&view_};
  detect::VolumeScale scale_;
  detect::Channels channels_;
  detect::HorizonColumns centre_;  // at every horizon what was expected
  std::vector<std::uint8_t> lessons_;
  int bins_ = 0;
};

}  // namespace outlierd::baselines
