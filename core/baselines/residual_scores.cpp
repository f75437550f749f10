#include "core/baselines/residual_scores.h"

#include <algorithm>

namespace outlierd::baselines {

ResidualScores::ResidualScores(const Network& network, double minimum_share)
    : places_(network),
      view_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      channels_(network, minimum_share) {}

const std::vector<float>& ResidualScores::score(const Input& input) {
  view_.horizons.score(input.deviation, input.known);
  view_.find_shifts(alone_);
  for (auto& centre : centre_) centre.assign(input.expected.begin(), input.expected.end());
  channels_.score(channels_input(input), alone_);
  return channels_.tail();
}

void ResidualScores::learn(const Input& input) {
  if (ready()) view_.learn_tails(input.known, alone_);
  channels_.learn(channels_input(input), input.known, input.expected, ready(), alone_);
  lessons_.resize(input.known.size());
  for (std::size_t cell = 0; cell < lessons_.size(); ++cell)
    lessons_[cell] = !input.known[cell]    ? detect::kSkip
                     : input.flagged[cell] ? detect::kHold
                                           : detect::kLearn;
  view_.horizons.learn(input.deviation, lessons_);
  learn_volume(input);
}

void ResidualScores::learn_volume(const Input& input) {
  double volume = 0.0, cells = 0.0;
  for (std::size_t cell = 0; cell < input.known.size(); ++cell)
    if (input.known[cell]) volume += input.volume[cell], cells += 1.0;
  if (cells == 0.0) return;
  if (scale_.learn(volume, cells)) scale_.adopt();
  ++bins_;
}

}  // namespace outlierd::baselines
