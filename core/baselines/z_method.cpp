#include "core/baselines/z_method.h"

namespace outlierd::baselines {
namespace {

constexpr double kLargestVolume = 1e30;

class ZMethod : public Method {
 public:
  ZMethod(const Network& network, std::unique_ptr<Predictor> predictor)
      : network_(network), predictor_(std::move(predictor)) {}

  SliceReport process(const Slice& slice, EpochSeconds time, int local_offset) override {
    const Slice measured = measured_part(slice);
    const Prediction& said = predictor_->process(measured, time, second_of_day(time, local_offset));
    SliceReport report;
    report.time = time;
    report.expected = said.expected;
    report.observed.assign(said.expected.size(), kUnknown);
    report.score.assign(said.expected.size(), kUnknown);
    for (std::size_t cell = 0; cell < said.expected.size(); ++cell) {
      if (!measured.observed[cell]) continue;
      report.observed[cell] = float(measured.values[cell]);
      report.score[cell] = said.residual[cell] / said.spread[cell];
    }
    return report;
  }

 private:
  Network network_;
  std::unique_ptr<Predictor> predictor_;
};

}  // namespace

Slice measured_part(const Slice& slice) {
  Slice measured = slice;
  for (std::size_t cell = 0; cell < measured.values.size(); ++cell) {
    const double value = measured.values[cell];
    if (!(value >= 0.0 && value <= kLargestVolume)) measured.observed[cell] = 0;
    if (!measured.observed[cell]) measured.values[cell] = 0.0;
  }
  return measured;
}

std::unique_ptr<Method> make_z_method(const Network& network,
                                      std::unique_ptr<Predictor> predictor) {
  return std::make_unique<ZMethod>(network, std::move(predictor));
}

}  // namespace outlierd::baselines
