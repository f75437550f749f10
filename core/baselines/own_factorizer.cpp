#include "core/baselines/factorization.h"
#include "core/model/streaming_factorizer.h"

namespace outlierd::baselines {
namespace {

class OwnFactorizer : public Factorization {
 public:
  OwnFactorizer(const SliceShape& shape, const model::FactorizerOptions& options)
      : factorizer_(shape, options) {}

  bool update(const Slice& slice) override {
    const model::Learned learned = factorizer_.update(slice);
    rank_ = learned.rank;
    projected_ = factorizer_.projection().expected;
    const model::SliceResult& fitted = factorizer_.fitted();
    fitted_ = fitted.expected;
    sparse_ = fitted.sparse;
    return learned.status == model::SliceStatus::kConverged ||
           learned.status == model::SliceStatus::kIterationLimit;
  }

 private:
  model::StreamingFactorizer factorizer_;
};

}  // namespace

std::unique_ptr<Factorization> make_factorizer(const SliceShape& shape,
                                               const model::FactorizerOptions& options) {
  return std::make_unique<OwnFactorizer>(shape, options);
}

}  // namespace outlierd::baselines
