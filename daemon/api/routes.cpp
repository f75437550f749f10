#include "daemon/api/routes.h"

#include <algorithm>

namespace outlierd::api {
namespace {

using enum ParameterPlace;
using enum ParameterKind;

Parameter text(std::string_view name, std::string_view description) {
  return {name, kQuery, kText, description, false, 0, 0, {}};
}

Parameter needed(Parameter parameter) {
  parameter.required = true;
  return parameter;
}

Parameter in_path(std::string_view name, std::string_view description) {
  return {name, kPath, kText, description, true, 0, 0, {}};
}

Parameter time(std::string_view name, std::string_view description) {
  return {name, kQuery, kTime, description, false, 0, 0, {}};
}

Parameter limit() {
  return {"limit", kQuery, kInteger, "Items at most; 100 unless said.", false, 1, 1000, {}};
}

Parameter cursor() {
  return {"cursor", kQuery, kCursor, "next of the page before.", false, 0, 0, {}};
}

Parameter metric() { return text("metric", "Which metric; the network's first unless said."); }

std::vector<Parameter> with_page(std::vector<Parameter> parameters) {
  parameters.push_back(limit());
  parameters.push_back(cursor());
  return parameters;
}

const Parameter kNetworkName = in_path("network", "Name of a network.");
const Parameter kEventId = in_path("id", "Id of an event.");
const Parameter kFrom = time("from", "Not before this time (inclusive).");
const Parameter kTo = time("to", "Before this time (exclusive).");
const std::vector<std::string_view> kShapeWords = {"spike",  "drop",  "ddos",  "scan",
                                                   "outage", "shift", "level", "network"};

std::vector<Route> reading_routes() {
  return {
      {Operation::kStatus,
       "GET",
       "/api/v1/status",
       "status",
       "How the daemon and each network do",
       Role::kRead,
       {},
       {},
       {},
       true,
       false,
       {{200, "Status now", "Status"}}},
      {Operation::kNetworks,
       "GET",
       "/api/v1/networks",
       "networks",
       "The networks and the settings in force",
       Role::kRead,
       with_page({}),
       {},
       {},
       true,
       false,
       {{200, "Networks by name", "NetworkList"}, {304, "Not changed since If-None-Match", ""}}},
      {Operation::kNetwork,
       "GET",
       "/api/v1/networks/{network}",
       "network",
       "One network and the settings in force",
       Role::kRead,
       {kNetworkName},
       {},
       {},
       true,
       false,
       {{200, "The network", "Network"}, {304, "Not changed since If-None-Match", ""}}},
      {Operation::kMatrix,
       "GET",
       "/api/v1/networks/{network}/matrix",
       "matrix",
       "One slice, origin by destination",
       Role::kRead,
       {kNetworkName,
        time("time", "Any time in the bin; the newest slice unless said."),
        {"what",
         kQuery,
         kChoices,
         "What to show; observed,expected,sparse,score unless said.",
         false,
         0,
         0,
         {"observed", "expected", "sparse", "score", "low", "high"}},
        metric(),
        {"group",
         kQuery,
         kInteger,
         "So many neighbouring nodes are taken together, for large networks: values add up, the "
         "score "
         "is that of greatest magnitude.",
         false,
         1,
         1000,
         {}},
        {"first_origin",
         kQuery,
         kInteger,
         "Rows from this node on, counted from 0.",
         false,
         0,
         1e6,
         {}},
        {"first_destination",
         kQuery,
         kInteger,
         "Columns from this node on, counted from 0.",
         false,
         0,
         1e6,
         {}},
        {"size",
         kQuery,
         kInteger,
         "Rows and columns at most, in nodes; all unless said.",
         false,
         1,
         1e6,
         {}}},
       {},
       {},
       true,
       false,
       {{200, "The slice; null is not observed", "Matrix"},
        {304, "Not changed since If-None-Match", ""}}},
      {Operation::kSeries,
       "GET",
       "/api/v1/networks/{network}/series",
       "series",
       "One cell over time, oldest first",
       Role::kRead,
       {kNetworkName, needed(text("origin", "Node where traffic enters.")),
        needed(text("destination", "Node where traffic leaves.")),
        time("from", "Not before this time (inclusive); a day before the end unless said."),
        time("to", "Before this time (exclusive); the end of the newest slice unless said."),
        metric()},
       {},
       {},
       true,
       false,
       {{200, "The series", "Series"}}},
      {Operation::kSlices,
       "GET",
       "/api/v1/networks/{network}/slices",
       "slices",
       "Every slice in a line: total traffic, what was expected of it, and the model; oldest first",
       Role::kRead,
       {kNetworkName,
        time("from", "Not before this time (inclusive); a day before the end unless said."),
        time("to", "Before this time (exclusive); the end of the newest slice unless said."),
        metric()},
       {},
       {},
       true,
       false,
       {{200, "The slices", "SliceList"}}},
      {Operation::kModel,
       "GET",
       "/api/v1/networks/{network}/model",
       "model",
       "What the model has learned",
       Role::kRead,
       {kNetworkName},
       {},
       {},
       true,
       false,
       {{200, "The model after the newest slice", "Model"}}},
      {Operation::kExporters,
       "GET",
       "/api/v1/exporters",
       "exporters",
       "Who sends flow records, and how well",
       Role::kRead,
       with_page({text("network", "Only of this network.")}),
       {},
       {},
       true,
       false,
       {{200, "A page of exporters, by network and address", "ExporterList"}}},
      {Operation::kOperationalEvents,
       "GET",
       "/api/v1/operational-events",
       "operationalEvents",
       "What is or was wrong with what exporters send, newest first; since the start",
       Role::kRead,
       with_page(
           {text("network", "Only of this network."),
            {"state", kQuery, kChoice, "Only in this state.", false, 0, 0, {"open", "closed"}}}),
       {},
       {},
       true,
       false,
       {{200, "A page of operational events", "OperationalEventList"}}},
      {Operation::kAnomalies,
       "GET",
       "/api/v1/anomalies",
       "anomalies",
       "Flagged cells, newest first",
       Role::kRead,
       with_page(
           {text("network", "Only of this network."),
            kFrom,
            kTo,
            text("origin", "Only with this origin."),
            text("destination", "Only with this destination."),
            text("metric", "Only of this metric."),
            {"min_score", kQuery, kNumber, "Only with at least this score.", false, 0, 1e9, {}}}),
       {},
       {},
       true,
       false,
       {{200, "A page of anomalies", "AnomalyList"}}},
      {Operation::kEvents,
       "GET",
       "/api/v1/events",
       "events",
       "Events, newest first; those that are only pending when asked for by state",
       Role::kRead,
       with_page({text("network", "Only of this network."),
                  {"state",
                   kQuery,
                   kChoice,
                   "Only in this state; open and closed unless said.",
                   false,
                   0,
                   0,
                   {"pending", "open", "closed"}},
                  {"shape", kQuery, kChoice, "Only of this shape.", false, 0, 0, kShapeWords},
                  time("from", "Opened not before this time (inclusive)."),
                  time("to", "Opened before this time (exclusive).")}),
       {},
       {},
       true,
       false,
       {{200, "A page of events", "EventList"}, {304, "Not changed since If-None-Match", ""}}},
      {Operation::kEvent,
       "GET",
       "/api/v1/events/{id}",
       "event",
       "One event",
       Role::kRead,
       {kEventId},
       {},
       {},
       true,
       false,
       {{200, "The event", "Event"}, {304, "Not changed since If-None-Match", ""}}},
  };
}

std::vector<Route> acting_routes() {
  return {
      {Operation::kPostSlices,
       "POST",
       "/api/v1/networks/{network}/slices",
       "postSlices",
       "Hand in traffic matrices, or parts of them",
       Role::kIngest,
       {kNetworkName},
       {"application/json", "application/x-ndjson", "application/cbor"},
       "Slice",
       true,
       true,
       {{202, "Taken; it would survive a crash", "SliceAnswer"},
        {409, "Late: the bin is closed", "Problem"},
        {429, "Too much at once; try again later", "Problem"}}},
      {Operation::kPostFlows,
       "POST",
       "/api/v1/flows",
       "postFlows",
       "Hand in flow records, one JSON object a line",
       Role::kIngest,
       {text("network", "The network they belong to; the only one unless said.")},
       {"application/x-ndjson", "application/json"},
       "Flow",
       true,
       true,
       {{202, "Taken", "FlowAnswer"},
        {409, "Late: the bin is closed", "Problem"},
        {429, "Too much at once; try again later", "Problem"}}},
      {Operation::kAcknowledge,
       "POST",
       "/api/v1/events/{id}/ack",
       "acknowledge",
       "Say that somebody looks after an event",
       Role::kOperate,
       {kEventId},
       {"application/json"},
       "AckRequest",
       false,
       false,
       {{200, "Acknowledged", "Ack"}, {409, "It is only pending", "Problem"}}},
      {Operation::kFeedback,
       "POST",
       "/api/v1/events/{id}/feedback",
       "feedback",
       "Say that an event was a false alarm, or expected",
       Role::kOperate,
       {kEventId},
       {"application/json"},
       "FeedbackRequest",
       true,
       false,
       {{200, "Noted", "Marked"}, {409, "It is only pending", "Problem"}}},
      {Operation::kSilences,
       "GET",
       "/api/v1/silences",
       "silences",
       "Silences, newest first",
       Role::kRead,
       with_page({{"state",
                   kQuery,
                   kChoice,
                   "Only in this state.",
                   false,
                   0,
                   0,
                   {"pending", "active", "expired"}}}),
       {},
       {},
       true,
       false,
       {{200, "A page of silences", "SilenceList"}}},
      {Operation::kAddSilence,
       "POST",
       "/api/v1/silences",
       "addSilence",
       "Silence the events that match",
       Role::kOperate,
       {},
       {"application/json"},
       "SilenceRequest",
       true,
       false,
       {{201, "The silence made", "Silence"}}},
      {Operation::kExpireSilence,
       "DELETE",
       "/api/v1/silences/{id}",
       "expireSilence",
       "End a silence now",
       Role::kOperate,
       {in_path("id", "Id of a silence.")},
       {},
       {},
       true,
       false,
       {{204, "Ended", ""}}},
      {Operation::kExpireSilence,
       "DELETE",
       "/api/v1/silences",
       "expireSilenceByQuery",
       "End a silence now",
       Role::kOperate,
       {needed(text("id", "Id of a silence."))},
       {},
       {},
       true,
       false,
       {{204, "Ended", ""}, {404, "No such silence, or it has ended", "Problem"}}},
      {Operation::kAudit,
       "GET",
       "/api/v1/audit",
       "audit",
       "What operators did, newest first",
       Role::kAdmin,
       {limit()},
       {},
       {},
       true,
       false,
       {{200, "Entries", "AuditList"}}},
      {Operation::kBackup,
       "POST",
       "/api/v1/backup",
       "backup",
       "Copy the store to a file of the daemon's machine, while it is written",
       Role::kAdmin,
       {},
       {"application/json"},
       "BackupRequest",
       true,
       false,
       {{200, "The copy is complete and durable", "Backup"},
        {409, "There is a file of that name already", "Problem"}}},
      {Operation::kNotifyTest,
       "POST",
       "/api/v1/notify/test",
       "notifyTest",
       "Send a test alert through every notifier",
       Role::kOperate,
       {},
       {},
       {},
       true,
       false,
       {{200, "What came back from each", "NotifyTestList"}}},
      {Operation::kReload,
       "POST",
       "/-/reload",
       "reload",
       "Read tokens, certificates, node maps and notifiers again",
       Role::kAdmin,
       {},
       {},
       {},
       true,
       false,
       {{200, "Read again", "Reloaded"},
        {422, "Something was bad; the old stays in force", "Problem"}}},
  };
}

std::vector<Route> operating_routes() {
  std::vector<Route> all = {
      {Operation::kPage,
       "GET",
       "/",
       "page",
       "The dashboard",
       Role::kNone,
       {},
       {},
       {},
       true,
       false,
       {{200, "A web page", "", "text/html"}, {304, "Not changed since If-None-Match", ""}}},
      {Operation::kStream,
       "GET",
       "/api/v1/stream",
       "stream",
       "Server-sent events: slice, event-opened, event-updated, event-closed, event-pending, "
       "event-dropped (no longer pending), operational-opened, operational-closed",
       Role::kRead,
       {text("network", "Only of this network."),
        {"last_event_id", kQuery, kInteger, "As the header Last-Event-ID.", false, 0, 9e18, {}},
        {"Last-Event-ID", kHeader, kText, "Go on behind this id.", false, 0, 0, {}}},
       {},
       {},
       true,
       false,
       {{200, "A stream without end", "", "text/event-stream"}}},
      {Operation::kMetrics,
       "GET",
       "/metrics",
       "metrics",
       "Prometheus text format",
       Role::kRead,
       {},
       {},
       {},
       true,
       false,
       {{200, "Metrics", "", "text/plain"}}},
      {Operation::kOpenApi,
       "GET",
       "/openapi.json",
       "openapi",
       "This document",
       Role::kNone,
       {},
       {},
       {},
       true,
       false,
       {{200, "OpenAPI 3.1", "OpenApi"}, {304, "Not changed since If-None-Match", ""}}},
  };
  const auto health = [&](Operation operation, std::string_view path, std::string_view name) {
    const bool ready = operation == Operation::kReady;
    all.push_back({operation,
                   "GET",
                   path,
                   name,
                   ready ? "Whether it can do its work" : "Whether it lives",
                   Role::kNone,
                   {},
                   {},
                   {},
                   true,
                   false,
                   {{200, "Yes", "Health"}, {503, "No, and why", "Health"}}});
  };
  health(Operation::kHealthy, "/-/healthy", "healthy");
  health(Operation::kReady, "/-/ready", "ready");
  health(Operation::kHealthy, "/healthz", "healthz");
  health(Operation::kHealthy, "/livez", "livez");
  health(Operation::kReady, "/readyz", "readyz");
  return all;
}

}  // namespace

const std::vector<Route>& routes() {
  static const std::vector<Route> all = [] {
    std::vector<Route> made = operating_routes();
    for (auto& part : {reading_routes(), acting_routes()})
      made.insert(made.end(), part.begin(), part.end());
    return made;
  }();
  return all;
}

std::vector<Answer> answers_of(const Route& route) {
  std::vector<Answer> all = route.answers;
  const auto add = [&](int status, std::string_view description) {
    const bool known = std::any_of(all.begin(), all.end(),
                                   [&](const Answer& each) { return each.status == status; });
    if (!known) all.push_back({status, description, "Problem"});
  };
  add(400, "The request is wrong; detail says what would be right");
  if (route.role != Role::kNone) {
    add(401, "A token is needed, or this one is not known");
    add(403, "The token may not do this");
  } else if (route.method != "GET") {
    add(403, "Not from another site's page");
  }
  if (route.pattern.find('{') != std::string_view::npos) add(404, "There is no such thing");
  add(408, "The request took too long to come");
  add(413, "The body is too large");
  add(414, "The target is too long");
  if (!route.body_types.empty()) {
    add(415, "The body has a type that is not known here");
    add(422, "The body was read but cannot be used");
  }
  add(417, "An expectation that is not known");
  add(431, "The header is too large");
  add(500, "A fault of ours; it is logged");
  add(501, "A transfer encoding that is not known");
  add(503, "Not now: too many connections, or the store does not answer");
  std::sort(all.begin(), all.end(),
            [](const Answer& x, const Answer& y) { return x.status < y.status; });
  return all;
}

}  // namespace outlierd::api
