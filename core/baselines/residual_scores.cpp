#include "core/baselines/residual_scores.h"

#include <algorithm>

namespace outlierd::baselines {

ResidualScores::ResidualScores(const Network& network, double minimum_share)
    : places_(network),
      view_(places_.row.size(), places_, 86400.0 / network.bin_seconds),
      channels_(network, minimum_share) {}

const std::vector<float>& ResidualScores::score(const Input& input) {
  view_.score(input.deviation, input.known, places_);
  for (auto& centre : centre_) centre.assign(input.expected.begin(), input.expected.end());
  channels_.score(channels_input(input), alone_);
  return channels_.tail();
}

void ResidualScores::learn(const Input& input) {
  if (ready()) view_.learn_tails(input.known);
  channels_.learn(channels_input(input), input.known, input.expected, ready(), alone_);
  for (std::size_t cell = 0; cell < input.known.size(); ++cell) {
    if (!input.known[cell]) continue;
    if (input.flagged[cell]) {
      view_.horizons.hold(cell);
    } else {
      view_.horizons.learn(cell, input.deviation[cell]);
    }
  }
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
