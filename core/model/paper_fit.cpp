#include "core/model/paper_fit.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/model/evidence.h"
#include "core/model/symmetric_eigen.h"

namespace outlierd::model {
namespace {

constexpr int kFewestSweeps = 5;  // before the bound is asked

// U S^(1/2) of the leading left singular vectors of one unfolding, by the eigenvectors of its Gram
// matrix; columns beyond its rank are zero. Not a number where the matrix has no such vectors.
Eigen::MatrixXd leading_factor(const Eigen::MatrixXd& unfolding, int rank) {
  const Eigen::MatrixXd gram = unfolding * unfolding.transpose();
  Eigen::MatrixXd factor = Eigen::MatrixXd::Zero(unfolding.rows(), rank), vectors;
  Eigen::VectorXd values;
  if (!symmetric_eigen(gram, values, vectors)) {
    factor.setConstant(std::numeric_limits<double>::quiet_NaN());
    return factor;
  }
  const Eigen::Index rows = unfolding.rows();
  for (Eigen::Index r = 0; r < std::min<Eigen::Index>(rank, rows); ++r) {
    const Eigen::Index from_last = rows - 1 - r;  // eigenvalues come in increasing order
    factor.col(r) = vectors.col(from_last) * std::pow(std::max(0.0, values(from_last)), 0.25);
  }
  return factor;
}

// Means from the factor, V = I.
void set_rows(const Eigen::MatrixXd& factor, FactorRows& rows) {
  const int rank = int(factor.cols());
  for (int i = 0; i < int(factor.rows()); ++i)
    for (int r = 0; r < rank; ++r) {
      rows.mean_of(i)[r] = factor(i, r);
      for (int s = 0; s <= r; ++s)
        rows.moment_of(i)[packed_index(r, s)] = factor(i, r) * factor(i, s) + (r == s ? 1.0 : 0.0);
    }
}

}  // namespace

PaperFit::PaperFit(const SliceShape& shape, const FactorizerOptions& options, MeanField& mean_field)
    : shape_(shape),
      options_(options),
      mean_field_(mean_field),
      sparse_(mean_field.layout().padded_cells()),
      gamma_(sparse_.size()),
      y_(sparse_.size()),
      residual_(sparse_.size()) {}

void PaperFit::start(Posterior& q, const WindowView& view) {
  const Layout& layout = mean_field_.layout();
  const int modes = int(shape_.size());
  const int slices = view.size();
  q.rank = options_.max_rank;
  const auto cells = Eigen::Index(layout.rows) * layout.columns;
  // Mode by mode: row = index in that mode, column = everything else; time is the last mode.
  for (int mode = 0; mode <= modes; ++mode) {
    const Eigen::Index rows = mode == modes ? slices : shape_[mode];
    Eigen::MatrixXd unfolding(rows, cells * slices / rows);
    std::vector<Eigen::Index> filled(rows, 0);
    Eigen::Index step = 1;
    for (int later = mode + 1; later < modes; ++later) step *= shape_[later];
    for (int t = 0; t < slices; ++t)
      for (Eigen::Index cell = 0; cell < cells; ++cell) {
        const Eigen::Index row = mode == modes ? t : cell / step % rows;
        unfolding(row, filled[row]++) =
            view.slices[t]->values[cell / layout.columns * layout.stride + cell % layout.columns];
      }
    set_rows(leading_factor(unfolding, q.rank), mode == modes ? q.time : q.modes[mode]);
  }
  std::fill(q.lambda.begin(), q.lambda.end(), 1.0);
  q.tau = 1.0;
  for (int i = 0; i < layout.rows; ++i)
    for (int j = 0; j < layout.columns; ++j) {
      const std::ptrdiff_t cell = std::ptrdiff_t(i) * layout.stride + j;
      const bool seen = layout.is_observed(view.newest(), cell);
      sparse_[cell] = {0.0, seen ? 1.0 : 0.0};
      gamma_[cell] = seen ? 1.0 : 0.0;
    }
}

bool PaperFit::sweep(Posterior& q, const WindowView& view) {
  WindowSlice& newest = view.newest();
  const int last = view.size() - 1;
  if (!mean_field_.update_row_mode(q, view)) return false;
  if (!mean_field_.update_column_modes(q, view)) return false;
  mean_field_.project(q, view);
  if (!mean_field_.update_time(q, view)) return false;

  double count = 1.0;
  for (int size : shape_) count += 0.5 * size;
  mean_field_.update_component_precision(q, view.size(), count);

  double variance = 0.0;
  for (const SparseCell& cell : sparse_) variance += cell.variance;
  q.tau = (kGammaPrior + 0.5 * double(newest.observed)) /
          (kGammaPrior + 0.5 * (mean_field_.summarized_error(q, view, last) + variance));

  newest.values = y_;
  mean_field_.residual(q, newest, q.time.mean_of(last), residual_.data());
  for (std::size_t cell = 0; cell < sparse_.size(); ++cell) {
    if (gamma_[cell] == 0.0) continue;  // not observed
    sparse_[cell] = options_.sparse
                        ? sparse_part_given_precision(residual_[cell], q.tau, gamma_[cell])
                        : SparseCell{};
    gamma_[cell] = model::sparse_precision(sparse_[cell], kGammaPrior, kGammaPrior);
    newest.values[cell] = y_[cell] - sparse_[cell].value;
  }
  newest.squares = sum_of_squares(newest.values);
  mean_field_.project_values(q, newest);
  return std::isfinite(q.tau);
}

bool PaperFit::fit(Posterior& q, const WindowView& view, int& sweeps) {
  WindowSlice& newest = view.newest();
  y_ = newest.values;
  start(q, view);
  mean_field_.refresh_rows(q);
  mean_field_.refresh_columns(q);
  mean_field_.project(q, view);
  bool ok = true;
  double bound = 0.0;
  for (sweeps = 0; sweeps < options_.cold_sweeps && ok;) {
    ok = sweep(q, view);
    ++sweeps;
    if (!ok || options_.tolerance == 0.0) continue;
    const double before = bound;
    bound = evidence_bound(q, view, mean_field_, {sparse_, gamma_, kGammaPrior, kGammaPrior});
    if (sweeps > kFewestSweeps && std::abs(bound - before) < options_.tolerance * std::abs(bound))
      break;
  }
  newest.values = y_;
  newest.squares = sum_of_squares(newest.values);
  return ok;
}

}  // namespace outlierd::model
