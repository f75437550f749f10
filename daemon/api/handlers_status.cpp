// What is asked about the daemon and its networks.

#include "daemon/api/api.h"
#include "daemon/api/json_names.h"

namespace outlierd::api {
namespace {

void write_network(JsonWriter& json, const LiveNetwork& live) {
  json.begin_object().key("name").string(live.network.name).key("nodes");
  write_names(json, live.network.nodes);
  json.key("bin_seconds").number(live.network.bin_seconds).key("metrics");
  write_names(json, live.network.metrics);
  json.key("lateness_seconds").number(live.settings.lateness_seconds);
  json.key("time_zone").string(live.settings.time_zone).key("sources");
  write_names(json, live.settings.sources);
  json.key("threshold").number(live.threshold);
  write(json, live.settings.pipeline, live.settings.method);
  json.end_object();
}

}  // namespace

Response Api::page() const {
  static const auto kPage = std::make_shared<const std::string>(
      "<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>outlierd</title>"
      "</head>\n<body><h1>outlierd</h1>\n<p>Watches the traffic between the nodes of a network and "
      "says what does not belong.</p>\n<p>The dashboard was not built into this outlierd (CMake: "
      "OUTLIERD_DASHBOARD). What there is:</p>\n<ul>\n"
      "<li><a href=\"/api/v1/status\">Status</a></li>\n"
      "<li><a href=\"/api/v1/networks\">Networks</a></li>\n"
      "<li><a href=\"/api/v1/events\">Events</a></li>\n"
      "<li><a href=\"/metrics\">Metrics</a></li>\n"
      "<li><a href=\"/openapi.json\">The API (OpenAPI 3.1)</a></li>\n"
      "</ul></body></html>\n");
  Response response;
  response.content_type = "text/html; charset=utf-8";
  response.body = kPage;
  response.tagged = true;
  return response;
}

Response Api::status() const {
  const auto uptime = std::chrono::steady_clock::now() - begun_;
  JsonWriter json;
  json.begin_object().key("version").string(ports_.version).key("uptime_seconds");
  json.number(std::chrono::duration_cast<std::chrono::seconds>(uptime).count());
  json.key("networks").begin_array();
  for (const auto& [name, live] : live_.networks()) {
    json.begin_object().key("name").string(name).key("last_slice").time(live.last_slice);
    json.key("bins_behind");
    if (const auto behind = live_.bins_behind(live)) {
      json.number(*behind);
    } else {
      json.null();
    }
    json.key("warmup").number(live.warmup).key("rank").number(live.model.rank);
    json.key("open_events").number(live.open_events);
    json.key("pending_events").number(live.pending.size()).end_object();
  }
  json.end_array().end_object();
  return json_response(200, json.take());
}

Response Api::networks(const Call& call) const {
  const auto after = call.arguments.place("cursor");
  const std::size_t limit = call.arguments.limit();
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  auto at = after ? live_.networks().upper_bound(after->id) : live_.networks().begin();
  std::size_t shown = 0;
  for (; at != live_.networks().end() && shown < limit; ++at, ++shown)
    write_network(json, at->second);
  json.end_array().key("next");
  if (at != live_.networks().end() && shown > 0) {
    json.string(cursor_of({0, std::prev(at)->first}));
  } else {
    json.null();
  }
  Response response = json_response(200, json.end_object().take());
  response.tagged = true;
  return response;
}

Response Api::network(const Call& call) const {
  const LiveNetwork* live = live_.network(call.arguments.needed("network"));
  if (!live) return problem(404, "there is no network of that name");
  JsonWriter json;
  write_network(json, *live);
  Response response = json_response(200, json.take());
  response.tagged = true;
  return response;
}

Response Api::model(const Call& call) const {
  const LiveNetwork* live = live_.network(call.arguments.needed("network"));
  if (!live) return problem(404, "there is no network of that name");
  JsonWriter json;
  json.begin_object().key("network").string(live->network.name);
  json.key("time").time(live->last_slice).key("warmup").number(live->warmup);
  json.key("threshold").number(live->threshold);
  write(json, live->model);
  write_components(json, live->network, live->model);
  return json_response(200, json.end_object().take());
}

Response Api::health(bool ready) const {
  std::vector<std::string> reasons;
  if (ports_.unhealthy) reasons = ports_.unhealthy();
  if (ready && ports_.unready)
    for (std::string& reason : ports_.unready()) reasons.push_back(std::move(reason));
  JsonWriter json;
  json.begin_object().key("ok").boolean(reasons.empty()).key("reasons");
  write_names(json, reasons);
  return json_response(reasons.empty() ? 200 : 503, json.end_object().take());
}

Response Api::metrics() const {
  Response response = json_response(200, ports_.metrics ? ports_.metrics() : "");
  response.content_type = "text/plain; version=0.0.4; charset=utf-8";
  return response;
}

}  // namespace outlierd::api
