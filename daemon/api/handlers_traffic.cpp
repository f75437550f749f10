// What is asked about traffic: one slice, one cell over time, or all slices in a line each.

#include <algorithm>
#include <cmath>

#include "daemon/api/api.h"
#include "daemon/api/json_names.h"

namespace outlierd::api {
namespace {

constexpr EpochSeconds kDay = 86400;
constexpr std::int64_t kMostPoints = 19000;  // the store gives a day more
constexpr char kTooLong[] = "from and to may lie at most 19000 bins apart";

// Which part of a matrix is asked for: from these nodes on, `size` of them, `group` taken together.
struct Part {
  std::size_t first_origin = 0, first_destination = 0;
  std::size_t size = std::numeric_limits<std::size_t>::max(), group = 1;
  bool asked = false;
};

// One quantity of one metric: nodes x nodes out of cells that have `step` metrics each.
struct Layer {
  const std::vector<float>* cells;
  std::size_t nodes, step, offset;
  bool scores;  // taken together, the greatest stands for all; else they add up

  float at(std::size_t origin, std::size_t destination) const {
    const std::size_t cell = (origin * nodes + destination) * step + offset;
    return cell < cells->size() ? (*cells)[cell] : std::numeric_limits<float>::quiet_NaN();
  }
  // NaN when all of them are.
  double together(std::size_t origin, std::size_t destination, std::size_t group) const {
    double sum = std::numeric_limits<double>::quiet_NaN();
    for (std::size_t i = origin; i < std::min(origin + group, nodes); ++i)
      for (std::size_t j = destination; j < std::min(destination + group, nodes); ++j) {
        const float value = at(i, j);
        if (std::isnan(value)) continue;
        if (std::isnan(sum)) {
          sum = value;
        } else if (!scores) {
          sum += value;
        } else if (std::abs(value) > std::abs(sum)) {
          sum = value;
        }
      }
    return sum;
  }
};

void write(JsonWriter& json, const Layer& layer, const Part& part) {
  const auto end = [&](std::size_t first) {
    return first + std::min(part.size, layer.nodes - std::min(first, layer.nodes));
  };
  json.begin_array();
  for (std::size_t i = part.first_origin; i < end(part.first_origin); i += part.group) {
    json.begin_array();
    for (std::size_t j = part.first_destination; j < end(part.first_destination); j += part.group)
      if (part.group == 1) {
        json.number(layer.at(i, j));
      } else {
        json.number(layer.together(i, j, part.group));
      }
    json.end_array();
  }
  json.end_array();
}

template <class Source>  // SliceReport or MatrixRecord
const std::vector<float>& quantity(const Source& source, std::string_view what) {
  if (what == "observed") return source.observed;
  if (what == "expected") return source.expected;
  if (what == "sparse") return source.sparse;
  if (what == "low") return source.low;
  if (what == "high") return source.high;
  return source.score;
}

struct MatrixQuestion {
  std::string network, metric, what;
  Part part;
};

Part part_of(const Arguments& arguments) {
  Part part;
  const auto read = [&](std::string_view name, std::size_t& into) {
    const auto value = arguments.integer(name);
    if (value) into = std::size_t(*value);
    part.asked = part.asked || value;
  };
  read("group", part.group);
  read("first_origin", part.first_origin);
  read("first_destination", part.first_destination);
  read("size", part.size);
  return part;
}

template <class Source>
Response matrix_response(const MatrixQuestion& question, const Source& source,
                         const std::vector<std::string>& nodes, std::size_t step,
                         std::size_t offset) {
  JsonWriter json;
  json.reserve(1024 + source.observed.size() * 32);
  json.begin_object().key("network").string(question.network).key("time").time(source.time);
  json.key("metric").string(question.metric).key("nodes");
  write_names(json, nodes);
  if (question.part.asked) {
    json.key("group").number(question.part.group);
    json.key("first_origin").number(question.part.first_origin);
    json.key("first_destination").number(question.part.first_destination);
  }
  for (std::string_view name : {"observed", "expected", "sparse", "score", "low", "high"}) {
    const std::string wanted = "," + question.what + ",";
    if (wanted.find("," + std::string(name) + ",") == std::string::npos) continue;
    json.key(name);
    write(json, Layer{&quantity(source, name), nodes.size(), step, offset, name == "score"},
          question.part);
  }
  Response response = json_response(200, json.end_object().take());
  response.tagged = true;
  return response;
}

// Index of the metric asked for; nothing when the network has none of that name.
std::optional<std::size_t> metric_index(const Network& network,
                                        const std::optional<std::string>& name) {
  if (!name) return 0;
  const auto found = std::find(network.metrics.begin(), network.metrics.end(), *name);
  if (found == network.metrics.end()) return std::nullopt;
  return std::size_t(found - network.metrics.begin());
}

std::string metrics_text(const Network& network) {
  std::string text = "metric must be one of ";
  for (const std::string& metric : network.metrics)
    text += (&metric == &network.metrics.front() ? "" : ", ") + metric;
  return text;
}

int node_index(const Network& network, const std::string& name) {
  const auto found = std::find(network.nodes.begin(), network.nodes.end(), name);
  return found == network.nodes.end() ? -1 : int(found - network.nodes.begin());
}

std::vector<SeriesPoint> live_points(const LiveNetwork& live, const SeriesQuery& query,
                                     std::size_t metric) {
  std::vector<SeriesPoint> points;
  const int origin = node_index(live.network, query.origin);
  const int destination = node_index(live.network, query.destination);
  if (origin < 0 || destination < 0) return points;
  const std::size_t cell = live.network.cell(origin, destination, int(metric));
  const auto at = [&](const std::vector<float>& cells) {
    return cell < cells.size() ? cells[cell] : std::numeric_limits<float>::quiet_NaN();
  };
  for (const SliceReport& slice : live.slices)
    if (slice.time >= query.range.from && slice.time < query.range.to)
      points.push_back({slice.time, at(slice.observed), at(slice.expected), at(slice.low),
                        at(slice.high), at(slice.score)});
  return points;
}

Response series_response(const SeriesQuery& query, const std::vector<SeriesPoint>& points) {
  JsonWriter json;
  json.reserve(256 + points.size() * 128);
  json.begin_object().key("network").string(query.network).key("origin").string(query.origin);
  json.key("destination").string(query.destination).key("metric").string(query.metric);
  json.key("points").begin_array();
  for (const SeriesPoint& point : points) write(json, point);
  json.end_array().end_object();
  return json_response(200, json.take());
}

// The day before the newest slice's end, unless said.
TimeRange asked_range(const LiveNetwork& live, const Arguments& arguments, EpochSeconds now) {
  const EpochSeconds end = live.last_slice ? *live.last_slice + live.network.bin_seconds : now;
  const auto from = arguments.time("from");
  TimeRange range;
  range.to = arguments.time("to").value_or(std::max(end, from.value_or(end - kDay) + 1));
  range.from = from.value_or(range.to - kDay);
  return range;
}

bool too_long(const LiveNetwork& live, const TimeRange& range) {
  return (range.to - range.from) / live.network.bin_seconds > kMostPoints;
}

}  // namespace

void Api::matrix(const Call& call, const Reply& reply) const {
  const LiveNetwork* live = live_.network(call.arguments.needed("network"));
  if (!live) return reply(problem(404, "there is no network of that name"));
  const auto metric = metric_index(live->network, call.arguments.text("metric"));
  if (!metric) return reply(problem(400, metrics_text(live->network)));
  const MatrixQuestion question{
      live->network.name, live->network.metrics[*metric],
      call.arguments.text("what").value_or("observed,expected,sparse,score"),
      part_of(call.arguments)};
  auto time = call.arguments.time("time");
  if (!time) time = live->last_slice;
  if (!time) return reply(problem(404, "there is no slice yet"));
  const EpochSeconds bin = live->bin_of(*time);
  if (const SliceReport* slice = live->slice_at(bin))
    return reply(matrix_response(question, *slice, live->network.nodes,
                                 live->network.metrics.size(), *metric));
  const bool newer = !live->slices.empty() && bin > live->slices.front().time;
  if (!ports_.history || newer) return reply(problem(404, "there is no slice of that time"));
  ports_.history->matrix(question.network, bin, question.metric, [question, reply](auto found) {
    if (!found) return reply(problem(503, found.error()));
    if (!*found) return reply(problem(404, "there is no slice of that time"));
    reply(matrix_response(question, **found, (*found)->nodes, 1, 0));
  });
}

void Api::series(const Call& call, const Reply& reply) const {
  const LiveNetwork* live = live_.network(call.arguments.needed("network"));
  if (!live) return reply(problem(404, "there is no network of that name"));
  const auto metric = metric_index(live->network, call.arguments.text("metric"));
  if (!metric) return reply(problem(400, metrics_text(live->network)));
  SeriesQuery query{live->network.name,
                    live->network.metrics[*metric],
                    call.arguments.needed("origin"),
                    call.arguments.needed("destination"),
                    {}};
  query.range = asked_range(*live, call.arguments, live_.now());
  if (too_long(*live, query.range)) return reply(problem(400, kTooLong));
  const bool known = node_index(live->network, query.origin) >= 0 &&
                     node_index(live->network, query.destination) >= 0;
  const auto finish = [query, known, reply](const std::vector<SeriesPoint>& points) {
    if (!known && points.empty())
      return reply(problem(400, "origin and destination must be nodes of the network"));
    reply(series_response(query, points));
  };
  const bool covered = !live->slices.empty() && live->slices.front().time <= query.range.from;
  if (!ports_.history || covered) return finish(live_points(*live, query, *metric));
  SeriesQuery older = query;
  if (!live->slices.empty()) older.range.to = std::min(older.range.to, live->slices.front().time);
  ports_.history->series(
      older, [finish, reply, live_part = live_points(*live, query, *metric)](auto found) {
        if (!found) return reply(problem(503, found.error()));
        found->insert(found->end(), live_part.begin(), live_part.end());
        finish(*found);
      });
}

void Api::slices(const Call& call, const Reply& reply) const {
  const LiveNetwork* live = live_.network(call.arguments.needed("network"));
  if (!live) return reply(problem(404, "there is no network of that name"));
  const auto metric = metric_index(live->network, call.arguments.text("metric"));
  if (!metric) return reply(problem(400, metrics_text(live->network)));
  SlicesQuery query{live->network.name, live->network.metrics[*metric],
                    asked_range(*live, call.arguments, live_.now())};
  if (too_long(*live, query.range)) return reply(problem(400, kTooLong));
  const TimeRange shown = query.range;
  // What lies before tells the band.
  query.range.from -= EpochSeconds(TotalBand::kSlices) * live->network.bin_seconds;
  std::vector<SlicePoint> newest;
  for (const std::vector<SlicePoint>& points : live->points)
    if (points[*metric].time >= query.range.from && points[*metric].time < query.range.to)
      newest.push_back(points[*metric]);
  const auto finish = [query, shown, reply](const std::vector<SlicePoint>& points) {
    JsonWriter json;
    json.reserve(256 + points.size() * 256);
    json.begin_object().key("network").string(query.network).key("metric").string(query.metric);
    json.key("points").begin_array();
    TotalBand bands;
    for (const SlicePoint& point : points) {
      const TotalBand::Band band = bands.next(point.total, point.threshold);
      if (point.time >= shown.from) write(json, point, band);
    }
    reply(json_response(200, json.end_array().end_object().take()));
  };
  const bool covered = !live->points.empty() && live->points.front()[0].time <= query.range.from;
  if (!ports_.history || covered) return finish(newest);
  if (!live->points.empty())
    query.range.to = std::min(query.range.to, live->points.front()[0].time);
  ports_.history->slices(query, [finish, reply, newest = std::move(newest)](auto found) {
    if (!found) return reply(problem(503, found.error()));
    found->insert(found->end(), newest.begin(), newest.end());
    finish(*found);
  });
}

}  // namespace outlierd::api
