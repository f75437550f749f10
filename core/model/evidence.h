#pragma once
// M9: the evidence bound of the weighted window model, the quantity that every update of M3-M8
// raises. Not needed to run: an oracle for tests, and the stopping rule of the printed rules.

#include <span>

#include "core/model/mean_field.h"
#include "core/model/sparse.h"

namespace outlierd::model {

// The sparse part of the newest slice under M6-M7, in the padded layout; empty for none. Where
// gamma is zero the cell was not observed. gamma ~ Ga(a0, b0).
struct SparseBelief {
  std::span<const SparseCell> cells;
  std::span<const double> gamma;
  double a0 = 0.0, b0 = 0.0;
};

// Expects project() to hold, with the newest slice's values Y - E[S].
double evidence_bound(const Posterior& q, const WindowView& view, const MeanField& mean_field,
                      const SparseBelief& sparse);

}  // namespace outlierd::model
