#include "core/baselines/method.h"

#include <functional>

#include "core/baselines/calibrated_method.h"
#include "core/baselines/factorization_predictor.h"
#include "core/baselines/simple.h"
#include "core/baselines/z_method.h"

namespace outlierd::baselines {
namespace {

class PipelineMethod : public Method {
 public:
  PipelineMethod(const Network& network, const PipelineOptions& options)
      : pipeline_(network, options) {}
  SliceReport process(const Slice& slice, EpochSeconds time, int local_offset) override {
    return pipeline_.process(slice, time, local_offset);
  }
  bool finds_events() const override { return true; }
  std::vector<Event> open_events() const override { return pipeline_.open_events(); }

 private:
  Pipeline pipeline_;
};

using MakePredictor =
    std::function<std::unique_ptr<Predictor>(const Network&, const MethodOptions&)>;

struct Entry {
  MethodName name;
  MakePredictor make;
};

// Written for origin x destination.
bool is_two_way(const Entry& entry) {
  return entry.name.name == "olstec" || entry.name.name == "online-sgd" ||
         entry.name.name == "online-cp";
}

const std::vector<Entry>& entries() {
  const auto ewma = [](Scale scale) {
    return
        [scale](const Network& network, const MethodOptions&) { return make_ewma(network, scale); };
  };
  const auto factorization = [](auto* make) {
    return [make](const Network& network, const MethodOptions& options) {
      return make_factorization_predictor(
          network, make(network.shape(), options.pipeline.model.max_rank, options.seed),
          Scale::kRoot, false);
    };
  };
  static const std::vector<Entry> list = {
      {{"ewma", "exponentially weighted mean of each pair, weight .3, on x^(1/4)", true},
       ewma(Scale::kRoot)},
      {{"ewma-linear", "the same on x", true}, ewma(Scale::kLinear)},
      {{"ewma-log", "the same on log x", true}, ewma(Scale::kLog)},
      {{"ewma-slow", "the same on x^(1/4), weight .05", true},
       [](const Network& network, const MethodOptions&) {
         return make_ewma(network, Scale::kRoot, 0.05f);
       }},
      {{"seasonal", "median of the same time of day over a week, on x^(1/4)", true},
       [](const Network& network, const MethodOptions&) { return make_seasonal(network); }},
      {{"holt-winters", "level and daily season of each pair, on x^(1/4)", true},
       [](const Network& network, const MethodOptions&) { return make_holt_winters(network); }},
      {{"subspace", "principal components of all pairs over a week, on x^(1/4)", true},
       [](const Network& network, const MethodOptions&) { return make_subspace(network); }},
      {{"olstec", "CP by recursive least squares (Kasai 2016), on x^(1/4)", false},
       factorization(+[](const SliceShape& shape, int rank, std::uint64_t seed) {
         return make_olstec(shape, rank, seed);
       })},
      {{"online-sgd", "CP by stochastic gradient (Mardani 2015), on x^(1/4)", false},
       factorization(make_online_sgd)},
      {{"online-cp", "online CP (Zhou 2016), on x^(1/4); what is missing enters as expected",
        false},
       factorization(make_online_cp)},
      {{"brst-paper", "the printed rules (Hawkins 2018) on x; scores are the sparse part", false},
       [](const Network& network, const MethodOptions& options) {
         model::FactorizerOptions rules = options.pipeline.model;
         rules.rules = model::Rules::kPaper;
         return make_factorization_predictor(network, make_factorizer(network.shape(), rules),
                                             Scale::kLinear, true);
       }},
  };
  return list;
}

}  // namespace

const std::vector<MethodName>& known_methods() {
  static const std::vector<MethodName> names = [] {
    std::vector<MethodName> made = {{std::string(kOwnMethod), "outlierd's own", false}};
    for (const Entry& entry : entries()) made.push_back(entry.name);
    return made;
  }();
  return names;
}

std::vector<std::string> method_names() {
  std::vector<std::string> names;
  for (const MethodName& method : known_methods()) {
    names.push_back(method.name);
    if (method.calibrated_form) names.push_back(method.name + std::string(kCalibrated));
  }
  return names;
}

tl::expected<std::unique_ptr<Method>, std::string> make_method(std::string_view name,
                                                               const Network& network,
                                                               const MethodOptions& options) {
  if (name == kOwnMethod) return std::make_unique<PipelineMethod>(network, options.pipeline);
  const bool calibrated = name.ends_with(kCalibrated);
  const std::string_view plain =
      calibrated ? name.substr(0, name.size() - kCalibrated.size()) : name;
  for (const Entry& entry : entries()) {
    if (entry.name.name != plain) continue;
    if (is_two_way(entry) && network.metrics.size() > 1)
      return tl::unexpected(std::string(plain) + " takes a network of one metric");
    if (!calibrated) return make_z_method(network, entry.make(network, options));
    if (!entry.name.calibrated_form)
      return tl::unexpected(std::string(plain) + " has no calibrated form");
    return make_calibrated_method(network, entry.make(network, options), options.pipeline);
  }
  std::string known;
  for (const std::string& each : method_names()) known += (known.empty() ? "" : ", ") + each;
  return tl::unexpected("there is no method " + std::string(name) + "; known: " + known);
}

}  // namespace outlierd::baselines
