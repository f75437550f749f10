#include "core/model/posterior.h"

#include <cmath>
#include <utility>

namespace outlierd::model {

Posterior::Posterior(const SliceShape& shape, int window, int max_rank)
    : time(window, max_rank), lambda(std::size_t(max_rank), 1.0), tau(1.0) {
  for (int size : shape) modes.emplace_back(size, max_rank);
}

double Posterior::strength(int r, int slices) const {
  const auto norm = [r](const FactorRows& factor, int rows) {
    double squares = 0.0;
    for (int i = 0; i < rows; ++i) squares += factor.mean_of(i)[r] * factor.mean_of(i)[r];
    return std::sqrt(squares);
  };
  double product = norm(time, slices);
  for (const FactorRows& mode : modes) product *= norm(mode, mode.rows);
  return product;
}

void Posterior::swap_components(int r, int s) {
  if (r == s) return;
  std::swap(lambda[r], lambda[s]);
  for_all_factors([&](FactorRows& factor) {
    for (int i = 0; i < factor.rows; ++i) {
      std::swap(factor.mean_of(i)[r], factor.mean_of(i)[s]);
      double* m = factor.moment_of(i);
      std::swap(m[packed_index(r, r)], m[packed_index(s, s)]);
      for (int q = 0; q < rank; ++q)
        if (q != r && q != s) std::swap(m[packed_index(r, q)], m[packed_index(s, q)]);
    }
  });
}

bool Posterior::add_component() {
  if (rank == int(lambda.size())) return false;
  ++rank;
  return true;
}

void Posterior::drop_component(int r) {
  swap_components(r, rank - 1);
  --rank;
  for_all_factors([&](FactorRows& factor) {
    for (int i = 0; i < factor.rows; ++i) {
      factor.mean_of(i)[rank] = 0.0;
      for (int s = 0; s <= rank; ++s) factor.moment_of(i)[packed_index(rank, s)] = 0.0;
    }
  });
  lambda[rank] = 1.0;
}

}  // namespace outlierd::model
