#pragma once
// The comparison as one page that needs nothing else: the paper's experiments, the detection tables
// and curves, time, ablations. Finished parts are kept beside the page, so that a report that was
// stopped goes on.

#include <functional>
#include <map>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/ctl/comparison.h"
#include "daemon/ctl/experiments.h"

namespace outlierd::ctl {

struct ReportOptions {
  std::string folder;             // the page is FOLDER/index.html
  std::string data;               // holds traffic/abilene-sand-week.csv.gz; empty: only the phantom
  std::vector<InjectedSet> sets;  // none: no detection
  EvaluationOptions evaluation;
  std::string command, date;  // how and when
};

struct Series {  // one line of an experiment
  std::string name, unit;
  SliceErrors full, half;  // half may be empty
};

struct ReportParts {
  std::vector<Series> factorizations;  // error and completion
  std::vector<Series> expectations;    // of whole methods, half observed
  std::vector<Series> ablations;       // of the factorizer's options
  std::map<std::string, PhantomRun> phantom;
  std::vector<ProfileFigures> detection, detection_ablations;
};

tl::expected<void, std::string> write_report(
    const ReportOptions& options,
    const std::function<void(double fraction, std::size_t)>& progress);

// The page itself. Pure.
std::string report_html(const ReportOptions& options, const ReportParts& parts);

inline constexpr int kPhantomFrames = 100;

}  // namespace outlierd::ctl
