#include "core/model/streaming_factorizer.h"

#include <algorithm>
#include <cmath>

#include "core/model/factorizer_state.h"

namespace outlierd::model {

const char* name_of(SliceStatus status) {
  switch (status) {
    case SliceStatus::kConverged:
      return "converged";
    case SliceStatus::kIterationLimit:
      return "iteration_limit";
    case SliceStatus::kWarmingUp:
      return "warming_up";
    case SliceStatus::kNothingObserved:
      return "nothing_observed";
    case SliceStatus::kBadInput:
      return "bad_input";
    case SliceStatus::kNumericalFailure:
      return "numerical_failure";
  }
  return "unknown";
}

StreamingFactorizer::StreamingFactorizer(SliceShape shape, FactorizerOptions options)
    : state_(std::make_unique<State>(std::move(shape), options)) {}
StreamingFactorizer::StreamingFactorizer(std::unique_ptr<State> state) : state_(std::move(state)) {}
StreamingFactorizer::~StreamingFactorizer() = default;
StreamingFactorizer::StreamingFactorizer(StreamingFactorizer&&) noexcept = default;
StreamingFactorizer& StreamingFactorizer::operator=(StreamingFactorizer&&) noexcept = default;

const SliceResult& StreamingFactorizer::project(const Slice& slice, double noise_precision) {
  return noise_precision > 0.0 ? state_->project_with(slice, noise_precision)
                               : state_->project(slice);
}
Learned StreamingFactorizer::update(const Slice& slice) { return state_->update(slice); }
const SliceResult& StreamingFactorizer::projection() const { return state_->projection; }
const SliceResult& StreamingFactorizer::fitted() { return state_->fitted(); }
const SliceShape& StreamingFactorizer::shape() const { return state_->shape; }
const FactorizerOptions& StreamingFactorizer::options() const { return state_->options; }
bool StreamingFactorizer::warm() const { return state_->warm; }
std::int64_t StreamingFactorizer::slices_learned() const { return state_->learned; }
double StreamingFactorizer::evidence_bound() { return state_->evidence_bound(); }

std::vector<double> StreamingFactorizer::component_strengths() const {
  std::vector<double> strengths;
  strengths.reserve(std::size_t(state_->q.rank));
  for (int r = 0; r < state_->q.rank; ++r)
    strengths.push_back(std::ldexp(state_->q.strength(r, state_->window.size()), state_->exponent));
  std::sort(strengths.rbegin(), strengths.rend());
  return strengths;
}

std::vector<Component> StreamingFactorizer::components() const {
  const Posterior& q = state_->q;
  std::vector<Component> components;
  for (int r = 0; r < q.rank; ++r) {
    Component component;
    component.strength = std::ldexp(q.strength(r, state_->window.size()), state_->exponent);
    for (const FactorRows& mode : q.modes) {
      std::vector<double>& loadings = component.loadings.emplace_back();
      double squares = 0.0;
      for (int row = 0; row < mode.rows; ++row) {
        loadings.push_back(mode.mean_of(row)[r]);
        squares += loadings.back() * loadings.back();
      }
      for (double& loading : loadings) loading /= squares > 0.0 ? std::sqrt(squares) : 1.0;
    }
    components.push_back(std::move(component));
  }
  std::sort(components.begin(), components.end(),
            [](const Component& x, const Component& y) { return x.strength > y.strength; });
  return components;
}

}  // namespace outlierd::model
