#pragma once
// Methods over a folder of injected sets: each method over each set and its clean twin, in
// parallel, and what that comes to. What was finished is kept in a folder, a file each, and not
// done again by the same program with the same settings.

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "core/baselines/method.h"
#include "core/evaluate/bootstrap.h"
#include "daemon/ctl/labels_file.h"

namespace outlierd::ctl {

// Alarms a day; the first three are the table's, all are the curve's once sorted.
inline const std::vector<double> kBudgets = {1, 3, 10, 0.5, 2, 5, 20, 30};

struct InjectedSet {
  std::string name, file;  // file: the traffic
  std::string source;      // the clean traffic, found
  LabelsFile labels;
};

// NAME.labels.json beside NAME.csv[.gz]. A source that is not where the labels say is looked for
// beside the folder, and by its name in `traffic`.
tl::expected<std::vector<InjectedSet>, std::string> find_sets(const std::string& folder,
                                                              const std::string& traffic);

struct JudgedEvent {
  std::string kind;
  double auc = 0.0;
  std::vector<int> delay;            // at each of kBudgets; -1: not found
  std::optional<std::string> shape;  // of the event that reports it; none: none does
};

struct JudgedSet {  // one method on one set
  std::vector<JudgedEvent> events;
  bool finds_events = false;
  double microseconds = 0.0;  // a slice, of one core
  double days = 0.0;
};

struct Variant {  // a method with settings of its own, under another name
  std::string method;
  baselines::MethodOptions options;
};

struct EvaluationOptions {
  std::vector<std::string> methods;  // or names of variants
  std::map<std::string, Variant> variants;
  std::string keep;  // folder of finished results
  int jobs = 1;
  bool keep_old = false;  // results of another build of the program are good enough
  baselines::MethodOptions method;
};

using Judgements = std::map<std::string, std::vector<JudgedSet>>;  // by method; as the sets

// on_progress(fraction): from any thread, one at a time.
tl::expected<Judgements, std::string> evaluate_sets(
    const std::vector<InjectedSet>& sets, const EvaluationOptions& options,
    const std::function<void(double fraction, std::size_t runs)>& on_progress);

// What an injected kind should be called.
std::string shape_of_kind(const std::string& kind);

}  // namespace outlierd::ctl
