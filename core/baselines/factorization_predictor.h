#pragma once
// A factorization as a predictor: what the factors of the past say of a slice, before it is
// learned.

#include <memory>

#include "core/baselines/factorization.h"
#include "core/baselines/predictor.h"
#include "core/baselines/value_scale.h"

namespace outlierd::baselines {

// Values of the scale, in units of their root mean square in the first slice. With `by_sparse_part`
// residuals are what the method took out as sparse instead.
std::unique_ptr<Predictor> make_factorization_predictor(
    const Network& network, std::unique_ptr<Factorization> factorization, Scale scale,
    bool by_sparse_part);

}  // namespace outlierd::baselines
