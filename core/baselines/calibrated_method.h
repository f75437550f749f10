#pragma once
// A baseline with outlierd's calibration behind it, so that what is compared is the prediction and
// not the bookkeeping: the residuals are a View of core/detect (horizons, rows, columns, shifts,
// pooled tails), gated by their share of the traffic, with the learned threshold and the events of
// the pipeline.

#include <memory>

#include "core/baselines/method.h"
#include "core/baselines/predictor.h"

namespace outlierd::baselines {

std::unique_ptr<Method> make_calibrated_method(const Network& network,
                                               std::unique_ptr<Predictor> predictor,
                                               const PipelineOptions& options);

}  // namespace outlierd::baselines
