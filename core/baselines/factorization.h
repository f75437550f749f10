#pragma once
// Streaming factorizations behind one interface: outlierd's own and those it is compared with, each
// as its publication has it. Two-way slices; L = A diag(c_t) B'.
//
// Data as they are: what unit suits a method is the caller's business (outlierd's own does not
// care). One object, one thread; the same slices and seed give the same result.

#include <cstdint>
#include <memory>
#include <vector>

#include "core/model/options.h"
#include "core/traffic/slice.h"

namespace outlierd::baselines {

class Factorization {
 public:
  virtual ~Factorization() = default;

  // Learns the slice. False when there is no finite answer, or none yet: both results are then NaN.
  virtual bool update(const Slice& slice) = 0;
  // L of the last slice, every cell: with the factors of the past, and after learning it.
  const std::vector<double>& projected() const { return projected_; }
  const std::vector<double>& fitted() const { return fitted_; }
  // What was taken out as sparse; empty for a method that has no such part.
  const std::vector<double>& sparse() const { return sparse_; }
  int rank() const { return rank_; }

 protected:
  std::vector<double> projected_, fitted_, sparse_;
  int rank_ = 0;
};

// Kasai, ICASSP 2016: recursive least squares a row of A and B; forgetting .7, regularisation .1.
enum class OlstecWindow {
  kExponential,  // what is past fades
  // What is older than ten slices is taken out again, as the author's program does it: it forgets
  // to solve for what it takes out of a row, and shrinks every row of B towards the last one. The
  // figures published for it are with this window.
  kTruncated,
};
std::unique_ptr<Factorization> make_olstec(const SliceShape& shape, int rank, std::uint64_t seed,
                                           OlstecWindow window);
inline std::unique_ptr<Factorization> make_olstec(const SliceShape& shape, int rank,
                                                  std::uint64_t seed) {
  return make_olstec(shape, rank, seed, OlstecWindow::kExponential);
}
// Mardani, Mateos and Giannakis 2015 (TeCPSGD): one gradient step a slice; regularisation .001,
// first step .1.
std::unique_ptr<Factorization> make_online_sgd(const SliceShape& shape, int rank,
                                               std::uint64_t seed);
// Zhou et al., KDD 2016: alternating least squares over the first slices, then sums carried along.
// Needs every cell: one that was not observed enters as what was expected of it.
std::unique_ptr<Factorization> make_online_cp(const SliceShape& shape, int rank,
                                              std::uint64_t seed);
// outlierd's, by our rules or the printed ones.
std::unique_ptr<Factorization> make_factorizer(const SliceShape& shape,
                                               const model::FactorizerOptions& options);

}  // namespace outlierd::baselines
