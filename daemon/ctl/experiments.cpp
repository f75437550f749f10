#include "daemon/ctl/experiments.h"

#include <cmath>
#include <ctime>
#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/ctl/method_run.h"

namespace outlierd::ctl {
namespace {

constexpr double kNothing = std::numeric_limits<double>::quiet_NaN();

// sqrt(sum of squares of the gap / of the value)
struct RelativeError {
  double gap = 0.0, size = 0.0;
  void add(double value, double said) {
    gap += (value - said) * (value - said);
    size += value * value;
  }
  double value() const {
    const double error = std::sqrt(gap / size);
    return size > 0.0 && std::isfinite(error) ? error : kNothing;
  }
};

nlohmann::json numbers(const std::vector<double>& values) {
  nlohmann::json list = nlohmann::json::array();
  for (double value : values)
    list.push_back(std::isfinite(value) ? nlohmann::json(value) : nlohmann::json());
  return list;
}

std::vector<double> numbers_of(const nlohmann::json& list) {
  std::vector<double> values;
  for (const nlohmann::json& value : list)
    values.push_back(value.is_number() ? value.get<double>() : kNothing);
  return values;
}

}  // namespace

std::string errors_json(const SliceErrors& errors) {
  return nlohmann::json{{"all", numbers(errors.all)},
                        {"kept", numbers(errors.kept)},
                        {"hidden", numbers(errors.hidden)},
                        {"rank", numbers(errors.rank)},
                        {"microseconds", errors.microseconds}}
      .dump();
}

SliceErrors errors_of_json(const std::string& json) {
  const nlohmann::json read = nlohmann::json::parse(json);
  return {numbers_of(read.at("all")), numbers_of(read.at("kept")), numbers_of(read.at("hidden")),
          numbers_of(read.at("rank")), read.at("microseconds").get<double>()};
}

std::string phantom_json(const PhantomRun& run) {
  return nlohmann::json{{"errors", numbers(run.errors)},
                        {"picture", numbers(run.picture)},
                        {"microseconds", run.microseconds}}
      .dump();
}

PhantomRun phantom_of_json(const std::string& json) {
  const nlohmann::json read = nlohmann::json::parse(json);
  return {numbers_of(read.at("errors")), numbers_of(read.at("picture")),
          read.at("microseconds").get<double>()};
}

// A hash, so that it needs no state and no file.
bool is_shown(std::size_t slice, std::size_t cell) {
  std::uint64_t z = 0x9e3779b97f4a7c15u * (std::uint64_t(slice) * 1000003u + cell + 1);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
  return ((z ^ (z >> 31)) & 1u) != 0;
}

double unit_of_deviations(const TrafficTable& week, std::size_t slices) {
  double sum = 0.0, squares = 0.0, count = 0.0;
  for (std::size_t t = 0; t < std::min(slices, week.rows.size()); ++t)
    for (double value : week.rows[t]) {
      if (std::isnan(value)) continue;
      sum += value;
      squares += value * value;
      count += 1.0;
    }
  return 1.0 / std::sqrt(squares / count - std::pow(sum / count, 2));
}

SliceErrors run_week(const TrafficTable& week, const WeekExperiment& experiment,
                     const MakeFactorization& make) {
  const Network network = network_of(week);
  const auto nodes = network.nodes.size();
  const auto method = make(network.shape());
  std::vector<std::size_t> cells;
  for (const Pair& pair : week.columns.pairs)
    cells.push_back(experiment.transposed
                        ? std::size_t(pair.destination) * nodes + std::size_t(pair.origin)
                        : network.cell(pair.origin, pair.destination));
  SliceErrors errors;
  const std::size_t slices = std::min(experiment.slices, week.rows.size());
  for (std::size_t t = 0; t < slices; ++t) {
    Slice slice(network.shape());
    for (std::size_t k = 0; k < cells.size(); ++k)
      if (!experiment.half || is_shown(t, k)) {
        const double value = experiment.unit * week.rows[t][k];
        slice.set(cells[k], experiment.root ? std::sqrt(std::sqrt(value)) : value);
      }
    const double begin = thread_seconds();
    const bool said = method->update(slice);
    errors.microseconds += 1e6 * (thread_seconds() - begin) / double(slices);
    RelativeError all, kept, hidden;
    for (std::size_t k = 0; said && k < cells.size(); ++k) {
      const double value = experiment.unit * week.rows[t][k],
                   said_value = method->fitted()[cells[k]];
      const double low_rank =
          experiment.root ? std::pow(std::max(0.0, said_value), 4.0) : said_value;
      const bool is_sparse = !method->sparse().empty() && method->sparse()[cells[k]] != 0.0;
      all.add(value, low_rank);
      if (!is_sparse) kept.add(value, low_rank);
      if (!slice.observed[cells[k]]) hidden.add(value, low_rank);
    }
    errors.all.push_back(all.value());
    errors.kept.push_back(kept.value());
    errors.hidden.push_back(hidden.value());
    errors.rank.push_back(method->rank());
  }
  return errors;
}

tl::expected<SliceErrors, std::string> run_week(const TrafficTable& week,
                                                const WeekExperiment& experiment,
                                                const std::string& name) {
  const Network network = network_of(week);
  auto method = baselines::make_method(name, network, {});
  if (!method) return tl::unexpected(method.error());
  SliceErrors errors;
  const std::size_t slices = std::min(experiment.slices, week.rows.size());
  for (std::size_t t = 0; t < slices; ++t) {
    Slice slice(network.shape());
    const auto& pairs = week.columns.pairs;
    const auto cell_of = [&](std::size_t k) {
      return network.cell(pairs[k].origin, pairs[k].destination);
    };
    for (std::size_t k = 0; k < pairs.size(); ++k)
      if (!experiment.half || is_shown(t, k))
        slice.set(cell_of(k), experiment.unit * week.rows[t][k]);
    const double begin = thread_seconds();
    const SliceReport report = (*method)->process(slice, week.times[t], 0);
    errors.microseconds += 1e6 * (thread_seconds() - begin) / double(slices);
    RelativeError all, hidden;
    for (std::size_t k = 0; k < pairs.size(); ++k) {
      const double value = experiment.unit * week.rows[t][k];
      const double said = double(report.expected[cell_of(k)]);
      all.add(value, said);
      if (!slice.observed[cell_of(k)]) hidden.add(value, said);
    }
    errors.all.push_back(all.value());
    errors.hidden.push_back(hidden.value());
    errors.rank.push_back(report.model.rank);
  }
  errors.kept = errors.all;
  return errors;
}

PhantomRun run_phantom(const evaluate::PhantomOptions& options, int frames, double unit,
                       const MakeFactorization& make) {
  const auto method = make({options.size, options.size});
  PhantomRun run;
  for (int frame = 0; frame < frames; ++frame) {
    const std::vector<double> truth = evaluate::phantom_frame(options, frame);
    Slice slice = evaluate::observe(options, frame, truth);
    for (double& value : slice.values) value *= unit;
    const double begin = thread_seconds();
    const bool said = method->update(slice);
    run.microseconds += 1e6 * (thread_seconds() - begin) / double(frames);
    RelativeError error;
    for (std::size_t cell = 0; said && cell < truth.size(); ++cell)
      error.add(truth[cell], method->fitted()[cell] / unit);
    run.errors.push_back(error.value());
  }
  run.picture = method->fitted();
  for (double& value : run.picture) value /= unit;
  return run;
}

}  // namespace outlierd::ctl
