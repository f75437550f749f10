// What is done through the API: traffic handed in, events acknowledged, silences, reload; and the
// stream.

#include <openssl/rand.h>

#include <array>
#include <charconv>

#include "daemon/api/api.h"
#include "daemon/api/http_text.h"
#include "daemon/api/json_names.h"
#include "daemon/api/request_bodies.h"

namespace outlierd::api {
namespace {

std::string random_id() {
  static constexpr char kHex[] = "0123456789abcdef";
  std::array<unsigned char, 8> bytes{};
  if (RAND_bytes(bytes.data(), int(bytes.size())) != 1) return {};
  std::string id;
  for (unsigned char byte : bytes) {
    id += kHex[byte >> 4];
    id += kHex[byte & 15];
  }
  return id;
}

std::string state_of(const Silence& silence, EpochSeconds now) {
  return now < silence.starts ? "pending" : now < silence.ends ? "active" : "expired";
}

constexpr const char* kOnlyPending = "the event is only pending: nobody was told of it";

Response no_content() {
  Response response;
  response.status = 204;
  return response;
}

}  // namespace

void Api::ingest(const Call& call, Request& request, const Reply& reply) {
  const bool slices = call.operation == Operation::kPostSlices;
  IngestRequest parcel;
  parcel.network = call.arguments.text("network").value_or("");
  if (!parcel.network.empty() && !live_.network(parcel.network))
    return reply(problem(slices ? 404 : 422, "there is no network of that name"));
  const Ingest& take = slices ? ports_.slices : ports_.flows;
  if (!take) return reply(problem(503, "this daemon takes no such traffic"));
  parcel.content_type = media_type(request.header("Content-Type"));
  parcel.body = std::move(request.body);
  parcel.peer = request.peer;
  parcel.identity = call.identity.name;
  take(std::move(parcel), [reply](IngestAnswer answer) {
    if (answer.status >= 200 && answer.status < 300)
      return reply(json_response(answer.status, std::move(answer.text)));
    Response response = problem(answer.status, answer.text);
    if (answer.status == 429 || answer.status == 503)
      response.headers.emplace_back("Retry-After", "1");
    reply(std::move(response));
  });
}

void Api::acknowledge(const Call& call, const Request& request, const Reply& reply) {
  const auto body = parse_ack(request.body);
  if (!body) return reply(problem(422, body.error()));
  const std::string id = call.arguments.needed("id");
  if (live_.find_pending(id)) return reply(problem(409, kOnlyPending));
  const Acknowledgement ack{body->by.value_or(call.identity.name), body->comment, live_.now()};
  const auto finish = [this, id, ack, reply](bool stored) {
    const bool known = live_.events.find(id) != nullptr;
    if (!stored && known) return reply(problem(503, "the event is not stored yet; try again"));
    if (!stored) return reply(problem(404, "there is no event of that id"));
    if (live_.events.acknowledge(id, ack))
      publish_event(EventChange::kUpdated, *live_.events.find(id));
    JsonWriter json;
    json.begin_object().key("id").string(id).key("acknowledged");
    write(json, ack);
    reply(json_response(200, json.end_object().take()));
  };
  if (!ports_.history) return finish(live_.events.find(id) != nullptr);
  ports_.history->acknowledge(
      id, ack, AuditEntry{ack.time, call.identity.name, "acknowledge", id, ack.comment},
      [finish, alive = std::weak_ptr(alive_), reply](auto stored) {
        if (alive.expired()) return;
        if (!stored) return reply(problem(503, stored.error()));
        finish(*stored);
      });
}

void Api::feedback(const Call& call, const Request& request, const Reply& reply) {
  auto feedback = parse_feedback(request.body);
  if (!feedback) return reply(problem(422, feedback.error()));
  if (feedback->by.empty()) feedback->by = call.identity.name;
  feedback->time = live_.now();
  const std::string id = call.arguments.needed("id");
  if (live_.find_pending(id)) return reply(problem(409, kOnlyPending));
  const auto finish = [this, id, said = *feedback, reply](bool stored) {
    const bool known = live_.events.find(id) != nullptr;
    if (!stored && known) return reply(problem(503, "the event is not stored yet; try again"));
    if (!stored) return reply(problem(404, "there is no event of that id"));
    const auto kept = said.mark.empty() ? std::nullopt : std::optional(said);
    if (live_.events.mark(id, kept)) publish_event(EventChange::kUpdated, *live_.events.find(id));
    JsonWriter json;
    json.begin_object().key("id").string(id).key("feedback");
    write(json, kept);
    reply(json_response(200, json.end_object().take()));
  };
  if (!ports_.history) return finish(live_.events.find(id) != nullptr);
  ports_.history->mark(
      id, *feedback,
      AuditEntry{feedback->time, call.identity.name, "feedback", id, feedback->comment},
      [finish, alive = std::weak_ptr(alive_), reply](auto stored) {
        if (alive.expired()) return;
        if (!stored) return reply(problem(503, stored.error()));
        finish(*stored);
      });
}

Response Api::silences(const Call& call) const {
  const EpochSeconds now = live_.now();
  const auto state = call.arguments.text("state");
  const auto after = call.arguments.place("cursor");
  const std::size_t limit = call.arguments.limit();
  std::optional<Place> last, next;
  std::size_t shown = 0;
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (const Silence& silence : live_.silences()) {
    const Place place{silence.created, silence.id};
    if ((after && place >= *after) || (state && state_of(silence, now) != *state)) continue;
    if (shown == limit) {
      next = last;
      break;
    }
    write(json, silence, now);
    last = place;
    ++shown;
  }
  json.end_array().key("next");
  if (next) {
    json.string(cursor_of(*next));
  } else {
    json.null();
  }
  return json_response(200, json.end_object().take());
}

void Api::add_silence(const Call& call, const Request& request, const Reply& reply) {
  auto silence = parse_silence(request.body, live_.now());
  if (!silence) return reply(problem(422, silence.error()));
  silence->id = random_id();
  if (silence->id.empty()) return reply(problem(503, "no randomness for an id"));
  silence->created = live_.now();
  if (silence->created_by.empty()) silence->created_by = call.identity.name;
  const auto finish = [this, made = *silence, reply] {
    live_.add_silence(made);
    JsonWriter json;
    write(json, made, live_.now());
    Response response = json_response(201, json.take());
    response.headers.emplace_back("Location", "/api/v1/silences/" + made.id);
    reply(std::move(response));
  };
  if (!ports_.history) return finish();
  ports_.history->add_silence(
      *silence,
      AuditEntry{silence->created, call.identity.name, "silence", silence->id, silence->comment},
      [finish, alive = std::weak_ptr(alive_), reply](auto stored) {
        if (alive.expired()) return;
        if (!stored) return reply(problem(503, stored.error()));
        finish();
      });
}

void Api::expire_silence(const Call& call, const Reply& reply) {
  const std::string id = call.arguments.needed("id");
  const EpochSeconds now = live_.now();
  const auto finish = [reply](bool ended) {
    reply(ended ? no_content() : problem(404, "there is no such silence, or it has ended"));
  };
  if (!ports_.history) return finish(live_.expire_silence(id, now));
  ports_.history->expire_silence(
      id, AuditEntry{now, call.identity.name, "expire", id, ""},
      [this, id, now, finish, alive = std::weak_ptr(alive_), reply](auto stored) {
        if (alive.expired()) return;
        if (!stored) return reply(problem(503, stored.error()));
        if (*stored) live_.expire_silence(id, now);
        finish(*stored);
      });
}

void Api::audit(const Call& call, const Reply& reply) const {
  const auto finish = [reply](const std::vector<AuditEntry>& entries) {
    JsonWriter json;
    json.begin_object().key("items").begin_array();
    for (const AuditEntry& entry : entries) write(json, entry);
    json.end_array().key("next").null().end_object();
    reply(json_response(200, json.take()));
  };
  if (!ports_.history) return finish({});
  ports_.history->audit(call.arguments.limit(), [finish, reply](auto stored) {
    if (!stored) return reply(problem(503, stored.error()));
    finish(*stored);
  });
}

void Api::backup(const Call& call, const Request& request, const Reply& reply) {
  if (!ports_.backup) return reply(problem(503, "there is no store to copy"));
  const auto path = parse_backup(request.body);
  if (!path) return reply(problem(422, path.error()));
  if (ports_.history)
    ports_.history->add_audit({live_.now(), call.identity.name, "backup", *path, ""}, [](auto) {});
  ports_.backup(*path, [reply, path = *path](const auto& bytes) {
    if (!bytes) return reply(problem(bytes.error().status, bytes.error().reason));
    JsonWriter json;
    json.begin_object().key("path").string(path).key("bytes").number(*bytes);
    reply(json_response(200, json.end_object().take()));
  });
}

void Api::notify_test(const Call& call, const Reply& reply) {
  if (!ports_.notify_test) return reply(problem(503, "there are no notifiers"));
  if (ports_.history)
    ports_.history->add_audit({live_.now(), call.identity.name, "notify test", "", ""},
                              [](auto) {});
  ports_.notify_test([reply](const std::vector<NotifyOutcome>& outcomes) {
    JsonWriter json;
    json.begin_object().key("items").begin_array();
    for (const NotifyOutcome& one : outcomes) {
      json.begin_object().key("notifier").string(one.notifier);
      json.key("ok").boolean(one.ok).key("detail").string(one.detail);
      json.key("seconds").number(one.seconds).end_object();
    }
    json.end_array().key("next").null();
    reply(json_response(200, json.end_object().take()));
  });
}

void Api::reload(const Call& call, const Reply& reply) {
  if (!ports_.reload) return reply(problem(503, "nothing can be reloaded"));
  if (ports_.history)
    ports_.history->add_audit({live_.now(), call.identity.name, "reload", "", ""}, [](auto) {});
  ports_.reload([reply](const std::vector<std::string>& problems) {
    if (problems.empty()) return reply(json_response(200, "{\"ok\":true}"));
    std::string text;
    for (const std::string& each : problems) text += (text.empty() ? "" : "; ") + each;
    reply(problem(422, text));
  });
}

Response Api::stream(const Call& call, const Request& request) {
  std::optional<std::uint64_t> last_seen;
  if (const auto asked = call.arguments.integer("last_event_id")) last_seen = std::uint64_t(*asked);
  if (const std::string_view header = request.header("Last-Event-ID"); !header.empty()) {
    std::uint64_t id = 0;  // what is not a number of ours is as good as one long gone
    std::from_chars(header.data(), header.data() + header.size(), id);
    last_seen = id;
  }
  Response response;
  response.content_type = "text/event-stream";
  response.headers.emplace_back("X-Accel-Buffering", "no");
  response.stream = [this, alive = std::weak_ptr(alive_), network = call.arguments.text("network"),
                     last_seen](std::shared_ptr<Stream> client) {
    if (alive.expired()) return client->close();
    stream_.add(std::move(client), network, last_seen);
  };
  return response;
}

}  // namespace outlierd::api
