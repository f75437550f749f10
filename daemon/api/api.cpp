#include "daemon/api/api.h"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>

#include "daemon/api/http_text.h"
#include "daemon/api/json_names.h"
#include "daemon/api/openapi.h"

namespace outlierd::api {
namespace {

constexpr auto kBackupTime = std::chrono::hours(1);  // a large store on a slow disk

constexpr auto kHeartbeatTime = std::chrono::seconds(15);
constexpr std::size_t kMostSmallBody = 64 * 1024;
constexpr std::size_t kRecoveredEvents = 1000, kRecoveredAnomalies = 2000;

std::string_view bearer_of(const Request& head) {
  const std::string_view value = head.header("Authorization");
  constexpr std::string_view kScheme = "Bearer ";
  if (!same_ignoring_case(value.substr(0, kScheme.size()), kScheme)) return {};
  return trimmed(value.substr(kScheme.size()));
}

// A page of another site must not act through the browser of somebody on this machine.
bool from_another_site(const Request& head) {
  const std::string_view origin = head.header("Origin");
  if (origin.empty()) return false;
  const std::size_t mark = origin.find("://");
  return mark == std::string_view::npos ||
         !same_ignoring_case(origin.substr(mark + 3), head.header("Host"));
}

bool has_body(const Request& head) {
  const std::string_view length = head.header("Content-Length");
  return (!length.empty() && length != "0") || !head.header("Transfer-Encoding").empty();
}

std::string joined(const std::vector<std::string_view>& words) {
  std::string text;
  for (std::string_view word : words) text.append(text.empty() ? "" : ", ").append(word);
  return text;
}

Admission refused(Response response, std::string_view route) {
  Admission admission;
  admission.refusal = std::move(response);
  admission.route = route;
  return admission;
}

}  // namespace

// Rings until it is destroyed.
struct Api::Heartbeat {
  Heartbeat(boost::asio::io_context& io, EventStream& stream_in) : timer(io), stream(stream_in) {
    wait();
  }
  void wait() {
    timer.expires_after(kHeartbeatTime);
    timer.async_wait([this](const boost::system::error_code& error) {
      if (error) return;  // destroyed, or about to be
      stream.heartbeat();
      wait();
    });
  }
  boost::asio::steady_timer timer;
  EventStream& stream;
};

Api::Api(boost::asio::io_context& io, LiveState& live, const Tokens& tokens, ApiPorts ports)
    : live_(live),
      tokens_(tokens),
      ports_(std::move(ports)),
      stream_({}, std::uint64_t(std::max<EpochSeconds>(live.now(), 1)) * 1000000),
      openapi_(std::make_shared<const std::string>(openapi_document(ports_.version))),
      heartbeat_(std::make_unique<Heartbeat>(io, stream_)) {}

Api::~Api() = default;

Dispatch Api::dispatch() {
  return [this](const Request& head) { return admit(head); };
}

std::optional<Response> Api::file(const Request& head) const {
  if (head.method != "GET" && head.method != "HEAD") return std::nullopt;
  const auto found = ports_.files.find(head.path);
  if (found == ports_.files.end()) return std::nullopt;
  Response response;
  response.content_type = found->second.content_type;
  response.body = found->second.body;
  response.tagged = true;
  if (found->second.gzip) {
    response.headers.emplace_back("Vary", "Accept-Encoding");
    if (accepts_gzip(head.header("Accept-Encoding"))) {
      response.body = found->second.gzip;
      response.headers.emplace_back("Content-Encoding", "gzip");
    }
  }
  if (found->second.immutable)
    response.headers.emplace_back("Cache-Control", "public, max-age=31536000, immutable");
  response.headers.emplace_back("Referrer-Policy", "no-referrer");
  response.content_security =
      "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; "
      "connect-src 'self'; manifest-src 'self'; base-uri 'none'; form-action 'none'; "
      "frame-ancestors 'none'";
  return response;
}

Admission Api::admit(const Request& head) {
  const Match found = match(head.method, head.path);
  if (found.route) return admit_route(head, *found.route, found);
  if (auto answer = file(head)) return refused(std::move(*answer), "file");
  if (found.allow.empty())
    return refused(problem(404, "there is nothing at this path"), "unmatched");
  Response response = problem(405, "this path takes " + found.allow);
  if (head.method == "OPTIONS") {
    response = Response{};
    response.status = 204;
  }
  response.headers.emplace_back("Allow", found.allow);
  return refused(std::move(response), "unmatched");
}

Admission Api::admit_route(const Request& head, const Route& route, const Match& found) {
  if (route.method != "GET" && from_another_site(head))
    return refused(problem(403, "not from a page of another site"), route.pattern);
  Call call{route.operation, {}, {}};
  if (route.role != Role::kNone) {
    auto identity = tokens_.identify(bearer_of(head), head.loopback);
    if (!identity) {
      Response response = problem(401, "a token is needed: Authorization: Bearer <token>");
      response.headers.emplace_back("WWW-Authenticate", "Bearer realm=\"outlierd\"");
      return refused(std::move(response), route.pattern);
    }
    if (!identity->may(route.role))
      return refused(
          problem(403, "this needs a token with the role " + std::string(name_of(route.role))),
          route.pattern);
    call.identity = std::move(*identity);
  }
  auto arguments = arguments_of(route, found, head.query);
  if (!arguments) return refused(problem(400, arguments.error()), route.pattern);
  call.arguments = std::move(*arguments);
  if (!route.body_types.empty() && (route.body_required || has_body(head))) {
    const std::string type = media_type(head.header("Content-Type"));
    const auto& known = route.body_types;
    if (std::find(known.begin(), known.end(), type) == known.end())
      return refused(problem(415, "the Content-Type must be one of " + joined(known)),
                     route.pattern);
  }
  Admission admission;
  if (route.operation == Operation::kBackup) admission.handler_time = kBackupTime;
  admission.route = route.pattern;
  admission.most_body_bytes = route.large_body ? ports_.most_ingest_bytes : kMostSmallBody;
  admission.handle = [this, call = std::move(call)](Request& request, const Reply& reply) {
    handle(call, request, reply);
  };
  return admission;
}

void Api::handle(const Call& call, Request& request, const Reply& reply) {
  switch (call.operation) {
    case Operation::kPage:
      return reply(file(request).value_or(page()));
    case Operation::kStatus:
      return reply(status());
    case Operation::kNetworks:
      return reply(networks(call));
    case Operation::kNetwork:
      return reply(network(call));
    case Operation::kMatrix:
      return matrix(call, reply);
    case Operation::kSeries:
      return series(call, reply);
    case Operation::kModel:
      return reply(model(call));
    case Operation::kSlices:
      return slices(call, reply);
    case Operation::kExporters:
      return reply(exporters(call));
    case Operation::kOperationalEvents:
      return reply(operational_events(call));
    case Operation::kPostSlices:
    case Operation::kPostFlows:
      return ingest(call, request, reply);
    case Operation::kAnomalies:
      return anomalies(call, reply);
    case Operation::kEvents:
      return events(call, reply);
    case Operation::kEvent:
      return event(call, reply);
    case Operation::kAcknowledge:
      return acknowledge(call, request, reply);
    case Operation::kFeedback:
      return feedback(call, request, reply);
    case Operation::kSilences:
      return reply(silences(call));
    case Operation::kAddSilence:
      return add_silence(call, request, reply);
    case Operation::kExpireSilence:
      return expire_silence(call, reply);
    case Operation::kAudit:
      return audit(call, reply);
    case Operation::kStream:
      return reply(stream(call, request));
    case Operation::kMetrics:
      return reply(metrics());
    case Operation::kHealthy:
      return reply(health(false));
    case Operation::kReady:
      return reply(health(true));
    case Operation::kBackup:
      return backup(call, request, reply);
    case Operation::kNotifyTest:
      return notify_test(call, reply);
    case Operation::kReload:
      return reload(call, reply);
    case Operation::kOpenApi:
      break;
  }
  Response response;
  response.body = openapi_;
  response.tagged = true;
  reply(std::move(response));
}

void Api::publish_event(EventChange change, const LiveEvent& event) {
  if (ports_.event_changed) ports_.event_changed(event.record);
  JsonWriter json;
  json.reserve(event.json.size() + 64);
  write_event(json, event);
  stream_.publish(change == EventChange::kOpened   ? "event-opened"
                  : change == EventChange::kClosed ? "event-closed"
                                                   : "event-updated",
                  event.record.network, json.text());
}

void Api::publish_pending(std::string_view what, const LiveEvent& event) {
  JsonWriter json;
  write_event(json, event);
  stream_.publish(what, event.record.network, json.text());
}

void Api::on_report(const std::string& network, SliceReport&& report, double seconds) {
  JsonWriter json;
  json.begin_object().key("network").string(network).key("time").time(report.time);
  json.key("warmup").number(report.warmup).key("threshold").number(report.threshold);
  json.key("rank").number(report.model.rank);
  json.key("anomalies").number(report.anomalies.size());
  json.key("open_events").number(report.open_events);
  json.key("pending_events").number(report.pending.size()).end_object();
  if (!live_.network(network)) return;
  const auto changes = live_.on_report(network, std::move(report), seconds);
  stream_.publish("slice", network, json.text());
  for (const auto& [change, event] : changes) publish_event(change, *event);
  // Nobody else is told of these.
  for (const LiveEvent& event : live_.pending_changes().changed)
    publish_pending("event-pending", event);
  for (const LiveEvent& event : live_.pending_changes().dropped)
    publish_pending("event-dropped", event);
}

void Api::recover(std::function<void(std::vector<std::string>)> done) {
  if (!ports_.history) {
    live_.events.seed({}, true);
    live_.anomalies.seed({}, true);
    return done({});
  }
  struct Progress {
    int waiting = 4;
    std::vector<std::string> problems;
    std::function<void(std::vector<std::string>)> done;
  };
  auto progress = std::make_shared<Progress>();
  progress->done = std::move(done);
  const auto step = [this, progress](const auto& result, const char* what) {
    if (!result) progress->problems.push_back(std::string(what) + ": " + result.error());
    if (--progress->waiting > 0) return;
    live_.count_open_events();
    progress->done(std::move(progress->problems));
  };
  const auto guarded = [alive = std::weak_ptr(alive_)](auto act) {
    return [alive, act = std::move(act)](auto result) {
      if (!alive.expired()) act(std::move(result));
    };
  };
  History& history = *ports_.history;
  EventQuery newest, open;
  newest.limit = open.limit = kRecoveredEvents;
  open.open = true;
  history.events(newest, guarded([this, step](auto result) {
                   if (result) {
                     const bool complete = result->size() < kRecoveredEvents;
                     live_.events.seed(*result, complete);
                   }
                   step(result, "events");
                 }));
  history.events(open, guarded([this, step](auto result) {
                   if (result)
                     for (const EventRecord& event : *result)
                       if (!live_.events.find(event.id)) live_.events.put(event);
                   step(result, "open events");
                 }));
  AnomalyQuery cells;
  cells.limit = kRecoveredAnomalies;
  history.anomalies(cells, guarded([this, step](auto result) {
                      if (result)
                        live_.anomalies.seed(*result, result->size() < kRecoveredAnomalies);
                      step(result, "anomalies");
                    }));
  history.silences(guarded([this, step](auto result) {
    if (result) live_.set_silences(*result);
    step(result, "silences");
  }));
}

}  // namespace outlierd::api
