#pragma once
// What judgements come to: for each profile and method the pooled events' recall, AUC, delay and
// shapes with their intervals, and of the paired differences to the first method. As figures, as a
// table for people, as JSON.

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "daemon/ctl/evaluation.h"

namespace outlierd::ctl {

struct MethodFigures {
  std::string method;
  std::vector<evaluate::Estimate> recall;  // at each of kBudgets
  evaluate::Estimate auc;
  std::optional<int>
      delay;  // median bins at three alarms a day, of the abrupt kinds that were found
  std::size_t reported = 0, named_rightly = 0;  // events with a shape, and those with the right one
  bool finds_events = false;
  double microseconds = 0.0;                                  // a slice
  std::map<std::string, std::vector<double>> recall_by_kind;  // at each of kBudgets
  // The first method minus this one, event by event.
  std::vector<evaluate::Estimate> recall_behind;
  evaluate::Estimate auc_behind;
};

struct ProfileFigures {
  std::string profile;
  std::size_t sets = 0, events = 0;
  std::vector<MethodFigures> methods;  // in the order asked for
};

std::vector<ProfileFigures> compare(const std::vector<InjectedSet>& sets, const Judgements& results,
                                    const std::vector<std::string>& methods);

std::string comparison_text(const std::vector<ProfileFigures>& profiles);
std::string comparison_json(const std::vector<ProfileFigures>& profiles);
std::string short_figure(double value);  // .352, 1.000, -.012; "-" of nothing

}  // namespace outlierd::ctl
