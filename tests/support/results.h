#pragma once
// Comparing what factorizers say, bit for bit: NaN equals the same NaN, and 0 is not -0.

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <vector>

#include "core/model/streaming_factorizer.h"

namespace outlierd::test {

inline bool same_bits(const std::vector<double>& x, const std::vector<double>& y) {
  return x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size() * sizeof(double)) == 0;
}

inline bool same_bits(double x, double y) { return std::memcmp(&x, &y, sizeof x) == 0; }

inline testing::AssertionResult same(const model::SliceResult& x, const model::SliceResult& y) {
  const auto differ = [](const char* what) {
    return testing::AssertionFailure() << what << " differs";
  };
  if (x.status != y.status)
    return differ("status") << ": " << name_of(x.status) << ", " << name_of(y.status);
  if (!same_bits(x.expected, y.expected)) return differ("expected");
  if (!same_bits(x.spread, y.spread)) return differ("spread");
  if (!same_bits(x.sparse, y.sparse)) return differ("sparse");
  if (!same_bits(x.sparse_spread, y.sparse_spread)) return differ("sparse_spread");
  if (x.rank != y.rank) return differ("rank");
  if (!same_bits(x.noise_precision, y.noise_precision)) return differ("noise_precision");
  if (x.iterations != y.iterations) return differ("iterations");
  return testing::AssertionSuccess();
}

inline testing::AssertionResult same(const model::Learned& x, const model::Learned& y) {
  if (x.status == y.status && x.iterations == y.iterations && x.rank == y.rank &&
      same_bits(x.noise_precision, y.noise_precision))
    return testing::AssertionSuccess();
  return testing::AssertionFailure()
         << name_of(x.status) << " after " << x.iterations << ", rank " << x.rank << "; "
         << name_of(y.status) << " after " << y.iterations << ", rank " << y.rank;
}

// |x - y| / |y|
inline double relative_error(const std::vector<double>& x, const std::vector<double>& y) {
  double error = 0.0, size = 0.0;
  for (std::size_t k = 0; k < x.size(); ++k) {
    error += (x[k] - y[k]) * (x[k] - y[k]);
    size += y[k] * y[k];
  }
  return std::sqrt(error / size);
}

}  // namespace outlierd::test
