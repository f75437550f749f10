#include "daemon/api/json_names.h"

#include <array>
#include <cstdio>
#include <span>
#include <utility>

#include "core/byte_stream.h"

namespace outlierd::api {
namespace {

const char* direction_of(bool up) { return up ? "up" : "down"; }

void write_optional(JsonWriter& json, const std::optional<std::string>& text) {
  if (text) {
    json.string(*text);
  } else {
    json.null();
  }
}

std::string name_at(const std::vector<std::string>& names, int index) {
  return index >= 0 && std::size_t(index) < names.size() ? names[std::size_t(index)] : "";
}

}  // namespace

void write_names(JsonWriter& json, const std::vector<std::string>& names) {
  json.begin_array();
  for (const std::string& name : names) json.string(name);
  json.end_array();
}

std::string begin_event(const EventRecord& event) {
  JsonWriter json;
  json.begin_object();
  json.key("id").string(event.id).key("network").string(event.network);
  json.key("state").string(event.pending ? "pending" : event.open ? "open" : "closed");
  json.key("shape").string(name_of(event.shape)).key("direction").string(direction_of(event.up));
  json.key("summary").string(event.summary);
  json.key("since").time(event.since);
  json.key("opened").time(event.opened).key("updated").time(event.updated);
  json.key("closed").time(event.closed);
  json.key("peak_score").number(event.peak_score).key("excess").number(event.excess);
  json.key("origins");
  write_names(json, event.origins);
  json.key("destinations");
  write_names(json, event.destinations);
  json.key("cells").begin_array();
  for (const CellRecord& cell : event.cells) {
    json.begin_object();
    json.key("origin").string(cell.origin).key("destination").string(cell.destination);
    json.key("metric").string(cell.metric);
    json.key("observed").number(cell.observed).key("expected").number(cell.expected);
    json.key("score").number(cell.score).end_object();
  }
  json.end_array();
  return json.take();
}

void finish_event(JsonWriter& json, std::string_view begun,
                  const std::optional<Acknowledgement>& acknowledged,
                  const std::optional<Feedback>& feedback, bool silenced) {
  json.raw(begun);
  json.key("acknowledged");
  if (acknowledged) {
    write(json, *acknowledged);
  } else {
    json.null();
  }
  json.key("feedback");
  write(json, feedback);
  json.key("silenced").boolean(silenced).end_object();
}

void write(JsonWriter& json, const std::optional<Feedback>& feedback) {
  if (!feedback) {
    json.null();
    return;
  }
  json.begin_object().key("mark").string(feedback->mark).key("by").string(feedback->by);
  json.key("time").time(feedback->time).key("comment").string(feedback->comment).end_object();
}

void write(JsonWriter& json, const Acknowledgement& acknowledgement) {
  json.begin_object();
  json.key("by").string(acknowledgement.by).key("time").time(acknowledgement.time);
  json.key("comment").string(acknowledgement.comment).end_object();
}

void write(JsonWriter& json, const AnomalyRecord& anomaly) {
  json.begin_object();
  json.key("id").string(anomaly.id).key("network").string(anomaly.network);
  json.key("time").time(anomaly.time).key("metric").string(anomaly.metric);
  json.key("origin").string(anomaly.origin).key("destination").string(anomaly.destination);
  json.key("observed").number(anomaly.observed).key("expected").number(anomaly.expected);
  json.key("low").number(anomaly.low).key("high").number(anomaly.high);
  json.key("sparse").number(anomaly.sparse).key("score").number(anomaly.score);
  json.key("direction").string(direction_of(anomaly.up)).key("event");
  if (anomaly.event.empty()) {
    json.null();
  } else {
    json.string(anomaly.event);
  }
  json.end_object();
}

void write(JsonWriter& json, const Silence& silence, EpochSeconds now) {
  json.begin_object().key("id").string(silence.id);
  json.key("network");
  write_optional(json, silence.network);
  json.key("origin");
  write_optional(json, silence.origin);
  json.key("destination");
  write_optional(json, silence.destination);
  json.key("node");
  write_optional(json, silence.node);
  json.key("shape");
  if (silence.shape) {
    json.string(name_of(*silence.shape));
  } else {
    json.null();
  }
  json.key("starts").time(silence.starts).key("ends").time(silence.ends);
  json.key("comment").string(silence.comment).key("created_by").string(silence.created_by);
  json.key("created").time(silence.created);
  json.key("state").string(now < silence.starts ? "pending"
                           : now < silence.ends ? "active"
                                                : "expired");
  json.end_object();
}

void write(JsonWriter& json, const SeriesPoint& point) {
  json.begin_object().key("time").time(point.time);
  json.key("observed").number(point.observed).key("expected").number(point.expected);
  json.key("low").number(point.low).key("high").number(point.high);
  json.key("score").number(point.score).end_object();
}

void write(JsonWriter& json, const SlicePoint& point, const TotalBand::Band& band) {
  json.begin_object().key("time").time(point.time);
  json.key("observed").number(point.total.observed).key("expected").number(point.total.expected);
  json.key("low").number(band.low).key("high").number(band.high);
  json.key("threshold").number(point.threshold).key("open_events").number(point.open_events);
  json.key("rank").number(point.rank).key("iterations").number(point.iterations);
  json.key("noise_precision").number(point.noise_precision);
  json.key("seconds").number(point.seconds).end_object();
}

void write(JsonWriter& json, const AuditEntry& entry) {
  json.begin_object().key("time").time(entry.time).key("actor").string(entry.actor);
  json.key("action").string(entry.action).key("subject").string(entry.subject);
  json.key("detail").string(entry.detail).end_object();
}

void write(JsonWriter& json, const ModelSummary& model) {
  json.key("status").string(model.status).key("rank").number(model.rank);
  json.key("iterations").number(model.iterations);
  json.key("noise_precision").number(model.noise_precision);
  json.key("evidence_bound").number(model.evidence_bound);
  json.key("component_strengths").begin_array();
  for (double strength : model.component_strengths) json.number(strength);
  json.end_array();
}

void write_components(JsonWriter& json, const Network& network, const ModelSummary& model) {
  const auto nodes = [&](const std::vector<ModelComponent::Node>& from) {
    json.begin_array();
    for (const ModelComponent::Node& each : from) {
      json.begin_object().key("node").string(name_at(network.nodes, each.node));
      json.key("loading").number(each.loading).end_object();
    }
    json.end_array();
  };
  json.key("components").begin_array();
  for (const ModelComponent& component : model.components) {
    json.begin_object().key("strength").number(component.strength).key("origins");
    nodes(component.origins);
    json.key("destinations");
    nodes(component.destinations);
    json.end_object();
  }
  json.end_array();
}

void write(JsonWriter& json, const PipelineOptions& options, const std::string& method) {
  const model::FactorizerOptions& model = options.model;
  json.key("model").begin_object();
  json.key("max_rank").number(model.max_rank).key("window").number(model.window);
  json.key("forgetting").number(model.forgetting);
  json.key("cold_start_slices").number(model.cold_start_slices);
  json.key("cold_sweeps").number(model.cold_sweeps).key("warm_sweeps").number(model.warm_sweeps);
  json.key("tolerance").number(model.tolerance);
  json.key("projection_rounds").number(model.projection_rounds);
  json.key("sparse").boolean(model.sparse).key("outlier_sigmas").number(model.outlier_sigmas);
  json.key("level_slices").number(model.level_slices);
  json.key("reseed_slices").number(model.reseed_slices);
  json.key("threads").number(model.threads).end_object();
  const DetectionOptions& detection = options.detection;
  json.key("detection").begin_object();
  json.key("false_alarms_per_day").number(detection.false_alarms_per_day);
  json.key("minimum_share").number(detection.minimum_share);
  json.key("close_after_slices").number(detection.close_after_slices);
  json.key("method").string(method).end_object();
}

EventRecord record_of(const Network& network, const Event& event) {
  EventRecord record;
  record.id = event.id;
  record.network = network.name;
  record.open = event.open;
  record.shape = event.shape;
  record.up = event.up;
  record.summary = event.summary;
  record.since = event.since;
  record.pending = event.pending;
  record.opened = event.opened;
  record.updated = event.updated;
  record.closed = event.closed;
  record.peak_score = event.peak_score;
  record.excess = event.excess;
  for (int node : event.origins) record.origins.push_back(name_at(network.nodes, node));
  for (int node : event.destinations) record.destinations.push_back(name_at(network.nodes, node));
  record.cells.reserve(event.cells.size());
  for (const EventCell& cell : event.cells)
    record.cells.push_back(
        {name_at(network.nodes, cell.origin), name_at(network.nodes, cell.destination),
         name_at(network.metrics, cell.metric), cell.observed, cell.expected, cell.score});
  return record;
}

AnomalyRecord record_of(const Network& network, const Anomaly& anomaly) {
  AnomalyRecord record;
  record.network = network.name;
  record.time = anomaly.time;
  record.metric = name_at(network.metrics, anomaly.metric);
  record.origin = name_at(network.nodes, anomaly.origin);
  record.destination = name_at(network.nodes, anomaly.destination);
  record.id =
      anomaly_id(record.network, record.time, record.metric, record.origin, record.destination);
  record.observed = anomaly.observed;
  record.expected = anomaly.expected;
  record.low = anomaly.low;
  record.high = anomaly.high;
  record.sparse = anomaly.sparse;
  record.score = anomaly.score;
  record.up = anomaly.up;
  record.event = anomaly.event;
  return record;
}

std::string anomaly_id(std::string_view network, EpochSeconds time, std::string_view metric,
                       std::string_view origin, std::string_view destination) {
  std::string text = std::to_string(time);
  for (std::string_view part : {network, metric, origin, destination}) {
    text += '\0';  // no name holds one, so that no two cells give the same text
    text += part;
  }
  char hex[20];
  std::snprintf(hex, sizeof hex, "%016llx",
                static_cast<unsigned long long>(crc64(std::as_bytes(std::span(text)))));
  return hex;
}

}  // namespace outlierd::api
