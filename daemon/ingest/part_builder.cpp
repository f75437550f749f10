#include "daemon/ingest/part_builder.h"

#include <fmt/format.h>

#include <cmath>

#include "core/traffic/time_text.h"

namespace outlierd::ingest {
namespace {

constexpr double kLargestVolume = 1e30;
constexpr std::size_t kLongestName = 256;

std::string shown(std::string_view text) {
  return std::string(text.substr(0, 64)) + (text.size() > 64 ? "..." : "");
}

tl::expected<const KnownNetwork*, Refusal> network_of(const MessageFields& fields,
                                                      const NetworkDirectory& networks,
                                                      std::string_view meant) {
  if (!fields.network && meant.empty())
    return tl::unexpected(refuse(RefusalReason::kUnknownNetwork, "network: missing"));
  if (fields.network && !meant.empty() && *fields.network != meant)
    return tl::unexpected(
        refuse(RefusalReason::kUnknownNetwork,
               fmt::format("network: \"{}\" is not \"{}\", to which this was sent",
                           shown(*fields.network), meant)));
  const std::string_view name = fields.network ? *fields.network : meant;
  const auto found = networks.find(name);
  if (found == networks.end())
    return tl::unexpected(refuse(RefusalReason::kUnknownNetwork,
                                 fmt::format("network: \"{}\" is not configured", shown(name))));
  return &found->second;
}

std::optional<Refusal> read_time(const MessageFields& fields, const Network& network,
                                 MatrixPart& part) {
  if (!fields.time) return refuse(RefusalReason::kBadTime, "time: missing");
  const std::optional<EpochSeconds> time = parse_time(*fields.time);
  if (!time)
    return refuse(
        RefusalReason::kBadTime,
        fmt::format("time: \"{}\" is not like 2004-03-01T00:05:00Z", shown(*fields.time)));
  if (*time % network.bin_seconds != 0)
    return refuse(RefusalReason::kBadTime,
                  fmt::format("time: {} is not the start of a bin of {} seconds", time_text(*time),
                              network.bin_seconds));
  part.time = *time;
  return std::nullopt;
}

std::optional<Refusal> read_labels(const MessageFields& fields, const KnownNetwork& known,
                                   MatrixPart& part) {
  const std::string_view metric = fields.metric.value_or("bytes");
  part.metric = known.metric(metric);
  if (part.metric < 0 && !fields.metric) part.metric = 0;  // the first, where bytes is not watched
  if (part.metric < 0)
    return refuse(RefusalReason::kUnknownMetric,
                  fmt::format("metric: \"{}\" is not watched in this network", shown(metric)));
  if (fields.source && fields.source->size() > kLongestName)
    return refuse(RefusalReason::kBadField, "source: longer than 256 bytes");
  part.source = std::string(fields.source.value_or(""));
  part.sequence = fields.sequence;
  part.complete = fields.complete;
  if (fields.rest && *fields.rest != "zero" && *fields.rest != "unobserved")
    return refuse(
        RefusalReason::kBadField,
        fmt::format("rest: \"{}\" is neither \"zero\" nor \"unobserved\"", shown(*fields.rest)));
  part.rest_is_zero = fields.rest && *fields.rest == "zero";
  return std::nullopt;
}

std::optional<Refusal> read_nodes(const std::vector<std::string_view>& names,
                                  const KnownNetwork& known, std::vector<int>& nodes) {
  std::vector<bool> seen(known.network().nodes.size());
  for (std::size_t k = 0; k < names.size(); ++k) {
    const int node = known.node(names[k]);
    if (node < 0)
      return refuse(
          RefusalReason::kUnknownNode,
          fmt::format("nodes[{}]: \"{}\" is not a node of this network", k, shown(names[k])));
    if (seen[std::size_t(node)])
      return refuse(RefusalReason::kBadShape,
                    fmt::format("nodes[{}]: \"{}\" is named twice", k, shown(names[k])));
    seen[std::size_t(node)] = true;
    nodes.push_back(node);
  }
  return std::nullopt;
}

// The given matrix, spread over the configured nodes.
std::optional<Refusal> place_values(MessageFields& fields, const KnownNetwork& known,
                                    DecodedPart& decoded) {
  const std::size_t n = known.network().nodes.size();
  const std::size_t given = fields.nodes ? fields.nodes->size() : n;
  if (fields.rows != given || (given > 0 && fields.columns != given))
    return refuse(RefusalReason::kBadShape,
                  fmt::format("values: {} x {} where {} nodes make {} x {}", fields.rows,
                              fields.columns, given, given, given));
  for (double value : fields.values)
    if (!std::isnan(value)) ++decoded.cells;
  MatrixPart& part = decoded.part;
  if (!fields.nodes) {
    part.values = std::move(fields.values);
    return std::nullopt;
  }
  std::vector<int> nodes;
  if (auto refusal = read_nodes(*fields.nodes, known, nodes)) return refusal;
  part.values.assign(n * n, part.rest_is_zero ? 0.0 : MatrixPart::kNotObserved);
  for (std::size_t i = 0; i < given; ++i)
    for (std::size_t j = 0; j < given; ++j)
      part.values[std::size_t(nodes[i]) * n + std::size_t(nodes[j])] = fields.values[i * given + j];
  if (part.rest_is_zero) decoded.cells += n * n - given * given;
  return std::nullopt;
}

std::optional<Refusal> place_cells(const MessageFields& fields, const KnownNetwork& known,
                                   DecodedPart& decoded) {
  const std::size_t n = known.network().nodes.size();
  MatrixPart& part = decoded.part;
  part.sparse = true;
  std::vector<bool> seen(n * n);
  for (std::size_t k = 0; k < fields.cells.size(); ++k) {
    const NamedCell& cell = fields.cells[k];
    const int origin = known.node(cell.origin), destination = known.node(cell.destination);
    if (origin < 0 || destination < 0)
      return refuse(RefusalReason::kUnknownNode,
                    fmt::format("cells[{}]: \"{}\" is not a node of this network", k,
                                shown(origin < 0 ? cell.origin : cell.destination)));
    const std::size_t pair = std::size_t(origin) * n + std::size_t(destination);
    if (seen[pair])
      return refuse(RefusalReason::kBadShape, fmt::format("cells[{}]: {}>{} is given twice", k,
                                                          cell.origin, cell.destination));
    seen[pair] = true;
    part.pairs.push_back(std::uint32_t(pair));
    part.values.push_back(cell.value);
    if (!std::isnan(cell.value)) ++decoded.cells;
  }
  if (part.rest_is_zero) decoded.cells += n * n - fields.cells.size();
  return std::nullopt;
}

}  // namespace

void MessageFields::clear() {
  std::vector<double> kept_values = std::move(values);
  std::vector<NamedCell> kept_cells = std::move(cells);
  *this = MessageFields{};
  values = std::move(kept_values);
  cells = std::move(kept_cells);
  values.clear();
  cells.clear();
}

Refusal refuse(RefusalReason reason, std::string message) { return {reason, std::move(message)}; }
Refusal wrong_kind(std::string_view key, const char* wanted) {
  return refuse(RefusalReason::kBadField, fmt::format("{}: must be {}", key, wanted));
}

std::optional<std::string> problem_of_value(double value) {
  if (std::isnan(value)) return "not a number";
  if (value < 0.0) return "negative";
  if (value > kLargestVolume) return "larger than 1e30";
  return std::nullopt;
}

tl::expected<DecodedPart, Refusal> finish(MessageFields& fields, const NetworkDirectory& networks,
                                          std::string_view meant) {
  const auto known = network_of(fields, networks, meant);
  if (!known) return tl::unexpected(known.error());
  DecodedPart decoded;
  decoded.network = *known;
  if (auto refusal = read_time(fields, (*known)->network(), decoded.part))
    return tl::unexpected(std::move(*refusal));
  if (auto refusal = read_labels(fields, **known, decoded.part))
    return tl::unexpected(std::move(*refusal));
  if (fields.has_values == fields.has_cells)
    return tl::unexpected(
        refuse(RefusalReason::kBadShape, fields.has_values ? "values and cells: give one of them"
                                                           : "values or cells: missing"));
  if (auto refusal = fields.has_values ? place_values(fields, **known, decoded)
                                       : place_cells(fields, **known, decoded))
    return tl::unexpected(std::move(*refusal));
  return decoded;
}

}  // namespace outlierd::ingest
