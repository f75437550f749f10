#include "daemon/ctl/comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/ctl/style.h"

namespace outlierd::ctl {
namespace {

using evaluate::bootstrap_mean;
using evaluate::Estimate;

constexpr std::size_t kShown = 3;        // budgets in the table
constexpr std::size_t kDelayBudget = 1;  // three a day
const std::set<std::string> kAbrupt = {"spike", "ddos", "scan", "outage", "shift", "dip", "step"};

// Of one method and profile, event by event, in the order of the sets.
struct Pooled {
  std::vector<std::vector<double>> found;  // by budget
  std::vector<double> auc;
};

Pooled pool(const std::vector<InjectedSet>& sets, const std::vector<JudgedSet>& judged,
            const std::string& profile, MethodFigures& figures) {
  Pooled pooled;
  pooled.found.resize(kBudgets.size());
  std::vector<int> delays;
  double slices = 0.0;
  std::map<std::string, double> kinds;
  for (std::size_t k = 0; k < sets.size(); ++k) {
    if (sets[k].labels.profile != profile) continue;
    figures.finds_events |= judged[k].finds_events;
    figures.microseconds += judged[k].microseconds;
    slices += 1.0;
    for (const JudgedEvent& event : judged[k].events) {
      pooled.auc.push_back(event.auc);
      auto& by_kind = figures.recall_by_kind[event.kind];
      by_kind.resize(kBudgets.size());
      kinds[event.kind] += 1.0;
      for (std::size_t b = 0; b < kBudgets.size(); ++b) {
        pooled.found[b].push_back(event.delay[b] >= 0 ? 1.0 : 0.0);
        by_kind[b] += pooled.found[b].back();
      }
      if (event.delay[kDelayBudget] >= 0 && kAbrupt.contains(event.kind))
        delays.push_back(event.delay[kDelayBudget]);
      figures.reported += event.shape.has_value();
      figures.named_rightly += event.shape == shape_of_kind(event.kind);
    }
  }
  figures.microseconds /= std::max(1.0, slices);
  for (auto& [kind, recall] : figures.recall_by_kind)
    for (double& value : recall) value /= kinds[kind];
  std::sort(delays.begin(), delays.end());
  if (!delays.empty()) figures.delay = delays[delays.size() / 2];
  return pooled;
}

Estimate difference(const std::vector<double>& first, const std::vector<double>& other) {
  std::vector<double> behind(first.size());
  for (std::size_t k = 0; k < first.size(); ++k) behind[k] = first[k] - other[k];
  return bootstrap_mean(behind);
}

std::string interval(const Estimate& estimate) {
  return fmt::format("{} [{} {}]", short_figure(estimate.mean), short_figure(estimate.low),
                     short_figure(estimate.high));
}

nlohmann::ordered_json json_of(const Estimate& estimate) {
  return {{"mean", estimate.mean}, {"low", estimate.low}, {"high", estimate.high}};
}

nlohmann::ordered_json json_of(const MethodFigures& figures) {
  nlohmann::ordered_json recall, behind;
  for (std::size_t b = 0; b < kBudgets.size(); ++b) {
    recall[fmt::format("{:g}", kBudgets[b])] = json_of(figures.recall[b]);
    behind[fmt::format("{:g}", kBudgets[b])] = json_of(figures.recall_behind[b]);
  }
  nlohmann::ordered_json kinds;
  for (const auto& [kind, values] : figures.recall_by_kind)
    kinds[kind] = std::vector<double>(values.begin(), values.begin() + kShown);
  nlohmann::ordered_json json = {{"recall_at_alarms_a_day", std::move(recall)},
                                 {"auc", json_of(figures.auc)},
                                 {"median_delay_bins_of_abrupt_kinds_at_3", nullptr},
                                 {"events_reported", nullptr},
                                 {"shapes_right", nullptr},
                                 {"recall_by_kind_at_1_3_10", std::move(kinds)},
                                 {"microseconds_a_slice", figures.microseconds},
                                 {"first_method_minus_this", std::move(behind)},
                                 {"first_method_minus_this_auc", json_of(figures.auc_behind)}};
  if (figures.delay) json["median_delay_bins_of_abrupt_kinds_at_3"] = *figures.delay;
  if (figures.finds_events) {
    json["events_reported"] = figures.reported;
    json["shapes_right"] = figures.named_rightly;
  }
  return json;
}

}  // namespace

std::string short_figure(double value) {
  if (std::isnan(value)) return "-";
  std::string text = fmt::format("{:.3f}", value);
  if (text == "-0.000") text = "0.000";
  if (text.starts_with("0.")) return text.substr(1);
  if (text.starts_with("-0.")) return "-" + text.substr(2);
  return text;
}

std::vector<ProfileFigures> compare(const std::vector<InjectedSet>& sets, const Judgements& results,
                                    const std::vector<std::string>& methods) {
  std::vector<ProfileFigures> profiles;
  for (const char* profile : {"material", "subtle"}) {
    ProfileFigures figures;
    figures.profile = profile;
    for (const InjectedSet& set : sets)
      if (set.labels.profile == profile) {
        ++figures.sets;
        figures.events += set.labels.events.size();
      }
    if (figures.sets == 0) continue;
    Pooled first;
    for (const std::string& method : methods) {
      MethodFigures each;
      each.method = method;
      Pooled pooled = pool(sets, results.at(method), profile, each);
      if (figures.methods.empty()) first = pooled;
      for (std::size_t b = 0; b < kBudgets.size(); ++b) {
        each.recall.push_back(bootstrap_mean(pooled.found[b]));
        each.recall_behind.push_back(difference(first.found[b], pooled.found[b]));
      }
      each.auc = bootstrap_mean(pooled.auc);
      each.auc_behind = difference(first.auc, pooled.auc);
      figures.methods.push_back(std::move(each));
    }
    profiles.push_back(std::move(figures));
  }
  return profiles;
}

std::string comparison_text(const std::vector<ProfileFigures>& profiles) {
  std::string text;
  for (const ProfileFigures& profile : profiles) {
    text += fmt::format("{}{}: {} events of {} sets; recall at alarms a day, 95% intervals\n",
                        text.empty() ? "" : "\n", profile.profile, profile.events, profile.sets);
    Table table({"METHOD", "AT 1", "AT 3", "AT 10", "AUC", ">DELAY", "SHAPES", ">µs/SLICE"});
    for (const MethodFigures& each : profile.methods)
      table.add({each.method, interval(each.recall[0]), interval(each.recall[1]),
                 interval(each.recall[2]), interval(each.auc),
                 each.delay ? std::to_string(*each.delay) : "-",
                 each.finds_events && each.reported > 0
                     ? fmt::format("{}/{} {}", each.named_rightly, each.reported,
                                   short_figure(double(each.named_rightly) / double(each.reported)))
                     : "-",
                 fmt::format("{:.0f}", each.microseconds)});
    text += table.render(false);
    if (profile.methods.size() < 2) continue;
    text += fmt::format("{} minus each, on the same events\n", profile.methods.front().method);
    Table behind({"METHOD", "AT 1", "AT 3", "AT 10", "AUC"});
    for (std::size_t k = 1; k < profile.methods.size(); ++k) {
      const MethodFigures& each = profile.methods[k];
      behind.add({each.method, interval(each.recall_behind[0]), interval(each.recall_behind[1]),
                  interval(each.recall_behind[2]), interval(each.auc_behind)});
    }
    text += behind.render(false);
  }
  return text;
}

std::string comparison_json(const std::vector<ProfileFigures>& profiles) {
  nlohmann::ordered_json document;
  for (const ProfileFigures& profile : profiles) {
    nlohmann::ordered_json methods;
    for (const MethodFigures& each : profile.methods) methods[each.method] = json_of(each);
    document[profile.profile] = {
        {"sets", profile.sets}, {"events", profile.events}, {"methods", std::move(methods)}};
  }
  return document.dump(1) + "\n";
}

}  // namespace outlierd::ctl
