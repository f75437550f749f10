#include "daemon/ctl/evaluation.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <set>

#include "daemon/ctl/kept_results.h"
#include "daemon/ctl/method_run.h"
#include "daemon/ctl/parallel.h"

namespace outlierd::ctl {
namespace {

using Cell = std::pair<int, int>;

// Sets that share their clean twin.
struct Twins {
  std::vector<std::size_t> sets;
};

std::vector<Twins> twins_of(const std::vector<InjectedSet>& sets) {
  std::map<std::tuple<std::string, EpochSeconds, double>, Twins> groups;
  for (std::size_t k = 0; k < sets.size(); ++k)
    groups[{sets[k].source, sets[k].labels.start, sets[k].labels.days}].sets.push_back(k);
  std::vector<Twins> list;
  for (auto& [key, group] : groups) list.push_back(std::move(group));
  return list;
}

tl::expected<evaluate::Labels, std::string> labels_of(const InjectedSet& set,
                                                      const TrafficColumns& columns) {
  std::map<std::string, std::size_t> index;
  for (std::size_t k = 0; k < columns.names.size(); ++k) index[columns.names[k]] = k;
  evaluate::Labels labels{set.labels.clean_until_bin, set.labels.bin_seconds, {}};
  for (const LabelText& text : set.labels.events) {
    evaluate::LabelledEvent event{text.kind, text.first_bin, text.bins, {}};
    for (const std::string& pair : text.pairs) {
      const auto found = index.find(pair);
      if (found == index.end())
        return tl::unexpected(set.name + ": the labels have a pair " + pair +
                              " that is not in the traffic");
      event.columns.push_back(found->second);
    }
    labels.events.push_back(std::move(event));
  }
  return labels;
}

// The shape of the event that reports a labelled one: opened in its window, or up to an hour later,
// with one of its pairs, and not there without it; of several the one with the highest peak.
std::optional<std::string> reported_shape(const evaluate::LabelledEvent& label,
                                          const TrafficTable& table,
                                          const std::vector<Event>& events,
                                          const std::set<std::string>& natural) {
  const EpochSeconds begin = table.times[label.first_bin];
  const EpochSeconds end =
      table.times[label.first_bin + label.bins - 1] + std::max(3600, table.bin_seconds);
  std::set<Cell> cells;
  for (std::size_t column : label.columns)
    cells.insert({table.columns.pairs[column].origin, table.columns.pairs[column].destination});
  const Event* best = nullptr;
  for (const Event& event : events) {
    if (event.opened < begin || event.opened > end || natural.contains(event.id)) continue;
    const bool meets =
        std::any_of(event.cells.begin(), event.cells.end(), [&](const EventCell& cell) {
          return cells.contains({cell.origin, cell.destination});
        });
    if (meets && (best == nullptr || event.peak_score > best->peak_score)) best = &event;
  }
  if (best == nullptr) return std::nullopt;
  return name_of(best->shape);
}

tl::expected<JudgedSet, std::string> judge(const InjectedSet& set, const std::string& method,
                                           const baselines::MethodOptions& options,
                                           const TrafficTable& twin, const MethodRun& clean) {
  auto table = read_traffic(set.file);
  if (!table) return tl::unexpected(table.error());
  if (table->columns.names != twin.columns.names || table->times != twin.times)
    return tl::unexpected(set.file + ": is not of the stretch its labels name");
  const auto labels = labels_of(set, table->columns);
  if (!labels) return tl::unexpected(labels.error());
  const auto run = run_method(method, *table, options);
  if (!run) return tl::unexpected(run.error());
  const auto outcome = evaluate::score_set(*labels, clean.scores, run->scores, kBudgets);
  if (!outcome) return tl::unexpected(set.name + ": " + outcome.error());
  std::set<std::string> natural;
  for (const Event& event : clean.events) natural.insert(event.id);
  JudgedSet judged;
  judged.finds_events = run->finds_events;
  judged.microseconds = 1e6 * run->seconds / double(table->rows.size());
  judged.days = outcome->days;
  for (std::size_t k = 0; k < outcome->events.size(); ++k) {
    const evaluate::EventOutcome& event = outcome->events[k];
    judged.events.push_back({event.kind, event.auc, event.delay, std::nullopt});
    if (run->finds_events)
      judged.events.back().shape = reported_shape(labels->events[k], *table, run->events, natural);
  }
  return judged;
}

Variant variant_of(const std::string& name, const EvaluationOptions& options) {
  const auto found = options.variants.find(name);
  return found == options.variants.end() ? Variant{name, options.method} : found->second;
}

std::string key_of(const InjectedSet& set, const baselines::MethodOptions& options) {
  const PipelineOptions& pipeline = options.pipeline;
  return fmt::format("{} {} {} {} {} {} {} {} {} {} {}", file_fingerprint(set.file),
                     file_fingerprint(set.source), set.labels.events.size(), pipeline.model.window,
                     pipeline.model.max_rank, pipeline.model.forgetting,
                     pipeline.detection.false_alarms_per_day, pipeline.detection.minimum_share,
                     pipeline.detection.without.bits(), pipeline.detection.close_after_slices,
                     options.seed);
}

}  // namespace

std::string shape_of_kind(const std::string& kind) {
  if (kind == "dip") return "drop";
  if (kind == "step" || kind == "ramp") return "level";
  if (kind == "flash") return "ddos";
  return kind;
}

tl::expected<Judgements, std::string> evaluate_sets(
    const std::vector<InjectedSet>& sets, const EvaluationOptions& options,
    const std::function<void(double fraction, std::size_t runs)>& on_progress) {
  const KeptResults kept(options.keep, options.keep_old);
  const std::vector<Twins> twins = twins_of(sets);
  Judgements results;
  for (const std::string& method : options.methods) results[method].resize(sets.size());
  const double total = double(options.methods.size() * (sets.size() + twins.size()));
  std::mutex mutex;
  std::size_t runs = 0;
  double done = 0.0;
  const auto finished = [&](double pieces, std::size_t computed) {
    const std::lock_guard lock(mutex);
    done += pieces;
    runs += computed;
    on_progress(done / total, runs);
  };
  const auto work = [&](std::size_t index) -> tl::expected<void, std::string> {
    const std::string& method = options.methods[index % options.methods.size()];
    const Twins& group = twins[index / options.methods.size()];
    const Variant variant = variant_of(method, options);
    std::vector<JudgedSet>& out = results.at(method);
    std::vector<std::size_t> missing;
    for (std::size_t k : group.sets) {
      auto found = kept.find(method + "/" + sets[k].name, key_of(sets[k], variant.options));
      if (found)
        out[k] = std::move(*found);
      else
        missing.push_back(k);
    }
    finished(double(group.sets.size() - missing.size()), 0);
    if (missing.empty()) {
      finished(1.0, 0);
      return {};
    }
    const InjectedSet& first = sets[missing.front()];
    auto twin = read_traffic(first.source, {first.labels.start, first.labels.days});
    if (!twin) return tl::unexpected(twin.error());
    const auto clean = run_method(variant.method, *twin, variant.options);
    if (!clean) return tl::unexpected(clean.error());
    finished(1.0, 1);
    for (std::size_t k : missing) {
      auto judged = judge(sets[k], variant.method, variant.options, *twin, *clean);
      if (!judged) return tl::unexpected(judged.error());
      if (auto saved =
              kept.keep(method + "/" + sets[k].name, key_of(sets[k], variant.options), *judged);
          !saved)
        return saved;
      out[k] = std::move(*judged);
      finished(1.0, 1);
    }
    return {};
  };
  const auto worked = run_in_parallel(twins.size() * options.methods.size(), options.jobs, work);
  if (!worked) return tl::unexpected(worked.error());
  return results;
}

}  // namespace outlierd::ctl
