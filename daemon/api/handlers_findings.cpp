// What was found: anomalies and events. The newest come from the live state; where that does not
// reach, what the history knows is put in, and what both know is shown as the live state has it.

#include <algorithm>

#include "daemon/api/api.h"
#include "daemon/api/json_names.h"

namespace outlierd::api {
namespace {

constexpr std::string_view kPending = "pending";

struct Item {
  Place place;
  std::string json;
};

std::string page_text(const std::vector<Item>& items, std::size_t limit,
                      const std::optional<Place>& next) {
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  for (std::size_t k = 0; k < std::min(limit, items.size()); ++k) json.raw(items[k].json);
  json.end_array().key("next");
  if (next) {
    json.string(cursor_of(*next));
  } else {
    json.null();
  }
  return json.end_object().take();
}

// `lowest` is how far down the history has told us, if it may know more: below it nothing is said.
std::string merged_page(std::vector<Item> items, std::size_t limit,
                        const std::optional<Place>& lowest) {
  if (lowest) std::erase_if(items, [&](const Item& item) { return item.place < *lowest; });
  std::sort(items.begin(), items.end(),
            [](const Item& x, const Item& y) { return x.place > y.place; });
  if (items.size() > limit) return page_text(items, limit, items[limit - 1].place);
  return page_text(items, limit, lowest);
}

EventQuery event_query(const Arguments& arguments) {
  EventQuery query;
  query.network = arguments.text("network");
  if (const auto state = arguments.text("state"); state && *state != kPending)
    query.open = *state == "open";
  if (const auto shape = arguments.text("shape")) query.shape = shape_named(*shape);
  query.range = arguments.range();
  query.after = arguments.place("cursor");
  query.limit = arguments.limit();
  return query;
}

AnomalyQuery anomaly_query(const Arguments& arguments) {
  AnomalyQuery query;
  query.network = arguments.text("network");
  query.metric = arguments.text("metric");
  query.origin = arguments.text("origin");
  query.destination = arguments.text("destination");
  query.min_score = arguments.number("min_score").value_or(0.0);
  query.range = arguments.range();
  query.after = arguments.place("cursor");
  query.limit = arguments.limit();
  return query;
}

Place place_of_event(const EventRecord& event) { return {event.opened, event.id}; }
Place place_of_anomaly(const AnomalyRecord& anomaly) { return {anomaly.time, anomaly.id}; }

Response tagged(std::string body) {
  Response response = json_response(200, std::move(body));
  response.tagged = true;
  return response;
}

}  // namespace

void Api::write_event(JsonWriter& json, const LiveEvent& event) const {
  finish_event(json, event.json, event.record.acknowledged, event.record.feedback,
               live_.silenced(event.record));
}

void Api::write_event(JsonWriter& json, const EventRecord& event) const {
  finish_event(json, begin_event(event), event.acknowledged, event.feedback, live_.silenced(event));
}

void Api::events(const Call& call, const Reply& reply) const {
  const EventQuery query = event_query(call.arguments);
  const bool pending = call.arguments.text("state") == kPending;
  const auto found = pending ? live_.pending(query) : live_.events.list(query);
  if (pending || !ports_.history || live_.events.covers(query, found)) {
    const std::size_t shown = std::min(found.size(), query.limit);
    std::size_t bytes = 64;
    for (std::size_t k = 0; k < shown; ++k) bytes += found[k]->json.size() + 256;
    JsonWriter json;
    json.reserve(bytes);
    json.begin_object().key("items").begin_array();
    for (std::size_t k = 0; k < shown; ++k) write_event(json, *found[k]);
    json.end_array().key("next");
    if (found.size() > query.limit) {
      json.string(cursor_of(place_of_event(found[shown - 1]->record)));
    } else {
      json.null();
    }
    return reply(tagged(json.end_object().take()));
  }
  EventQuery older = query;
  older.limit = query.limit + 1;
  ports_.history->events(older, [this, alive = std::weak_ptr(alive_), query, reply](auto stored) {
    if (alive.expired()) return;
    if (!stored) return reply(problem(503, stored.error()));
    std::vector<Item> items;
    const auto add = [&](const auto& event, const EventRecord& record) {
      JsonWriter json;
      write_event(json, event);
      items.push_back({place_of_event(record), json.take()});
    };
    for (const LiveEvent* event : live_.events.list(query)) add(*event, event->record);
    for (const EventRecord& event : *stored)
      if (!live_.events.find(event.id)) add(event, event);
    std::optional<Place> lowest;
    if (stored->size() > query.limit) lowest = place_of_event(stored->back());
    reply(tagged(merged_page(std::move(items), query.limit, lowest)));
  });
}

void Api::event(const Call& call, const Reply& reply) const {
  const std::string id = call.arguments.needed("id");
  const LiveEvent* event = live_.events.find(id);
  if (!event) event = live_.find_pending(id);
  if (event) {
    JsonWriter json;
    write_event(json, *event);
    return reply(tagged(with_behind(json.take(), id)));
  }
  if (!ports_.history) return reply(problem(404, "there is no event of that id"));
  ports_.history->event(id, [this, alive = std::weak_ptr(alive_), id, reply](auto stored) {
    if (alive.expired()) return;
    if (!stored) return reply(problem(503, stored.error()));
    if (!*stored) return reply(problem(404, "there is no event of that id"));
    JsonWriter json;
    write_event(json, **stored);
    reply(tagged(with_behind(json.take(), id)));
  });
}

void Api::anomalies(const Call& call, const Reply& reply) const {
  const AnomalyQuery query = anomaly_query(call.arguments);
  const auto items_of = [](const std::vector<const AnomalyRecord*>& found) {
    std::vector<Item> items;
    for (const AnomalyRecord* anomaly : found) {
      JsonWriter json;
      write(json, *anomaly);
      items.push_back({place_of_anomaly(*anomaly), json.take()});
    }
    return items;
  };
  const auto found = live_.anomalies.list(query);
  if (!ports_.history || live_.anomalies.covers(query, found))
    return reply(json_response(200, merged_page(items_of(found), query.limit, std::nullopt)));
  AnomalyQuery older = query;
  older.limit = query.limit + 1;
  ports_.history->anomalies(
      older, [this, alive = std::weak_ptr(alive_), query, reply, items_of](auto stored) {
        if (alive.expired()) return;
        if (!stored) return reply(problem(503, stored.error()));
        std::vector<const AnomalyRecord*> all = live_.anomalies.list(query);
        for (const AnomalyRecord& anomaly : *stored)
          if (!live_.anomalies.holds(place_of_anomaly(anomaly))) all.push_back(&anomaly);
        std::optional<Place> lowest;
        if (stored->size() > query.limit) lowest = place_of_anomaly(stored->back());
        reply(json_response(200, merged_page(items_of(all), query.limit, lowest)));
      });
}

}  // namespace outlierd::api
