// What is asked about flow records: their exporters, and who was behind an event.

#include <algorithm>

#include "core/traffic/address_text.h"
#include "daemon/api/api.h"
#include "daemon/api/json_names.h"

namespace outlierd::api {
namespace {

void write_exporter(JsonWriter& json, const ExporterRecord& record) {
  const ExporterFacts& facts = *record.facts;
  const ExporterTally& total = facts.total;
  const auto skew = total.clock.skew();
  json.begin_object().key("network").string(record.network);
  json.key("exporter").string(address_text(facts.address)).key("nodes");
  write_names(json, record.nodes);
  json.key("datagrams").number(total.datagrams).key("records").number(total.records);
  json.key("records_per_second").number(facts.records_per_second);
  json.key("bytes").number(total.bytes).key("lost_records").number(total.lost_records);
  json.key("loss").number(facts.loss).key("restarts").number(total.restarts);
  json.key("sampling_rate");
  if (total.sampling_rate > 0) {
    json.number(total.sampling_rate);
  } else {
    json.null();
  }
  json.key("clock_skew_seconds");
  if (skew) {
    json.number(double(*skew) / 1000.0);
  } else {
    json.null();
  }
  json.key("first_seen").time(facts.first_seen / 1000);
  json.key("last_seen").time(total.received / 1000).key("silent").boolean(facts.silent);
  json.key("egress_records").number(total.egress_records);
  json.key("unmapped_records").number(total.unmapped_records);
  json.key("unmapped_bytes").number(total.unmapped_bytes);
  json.key("unknown_sampling_records").number(total.unknown_rate_records);
  json.key("late_records").number(total.late_records);
  json.key("early_records").number(total.early_records).end_object();
}

void write_behind(JsonWriter& json, const Behind& behind) {
  json.begin_object().key("time").time(behind.time).key("samples").number(behind.samples);
  for (const TalkerDimension& dimension : behind.dimensions) {
    json.key(dimension.name).begin_array();
    for (const TalkerShare& one : dimension.top) {
      json.begin_object().key("what").string(one.what).key("bytes").number(one.bytes);
      json.key("share").number(one.share).key("usual");
      if (one.usual >= 0.0) {
        json.number(one.usual);
      } else {
        json.null();
      }
      json.end_object();
    }
    json.end_array();
  }
  json.end_object();
}

void write_operational(JsonWriter& json, const OperationalEvent& event) {
  json.begin_object().key("id").string(event.id).key("network").string(event.network);
  json.key("kind").string(event.kind).key("state").string(event.closed ? "closed" : "open");
  json.key("exporter").string(event.exporter).key("summary").string(event.summary);
  json.key("figure").number(event.figure).key("opened").time(event.opened).key("closed");
  if (event.closed) {
    json.time(*event.closed);
  } else {
    json.null();
  }
  json.end_object();
}

std::string id_of(const ExporterRecord& record) {
  return record.network + "/" + address_text(record.facts->address);
}

}  // namespace

Response Api::exporters(const Call& call) const {
  const auto only = call.arguments.text("network");
  const auto after = call.arguments.place("cursor");
  const std::size_t limit = call.arguments.limit();
  std::map<std::string, ExporterRecord> sorted;
  if (ports_.exporters)
    for (ExporterRecord& one : ports_.exporters())
      if (!only || one.network == *only) sorted.emplace(id_of(one), std::move(one));
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  auto at = after ? sorted.upper_bound(after->id) : sorted.begin();
  std::size_t shown = 0;
  for (; at != sorted.end() && shown < limit; ++at, ++shown) write_exporter(json, at->second);
  json.end_array().key("next");
  if (at != sorted.end() && shown > 0) {
    json.string(cursor_of({0, std::prev(at)->first}));
  } else {
    json.null();
  }
  return json_response(200, json.end_object().take());
}

Response Api::operational_events(const Call& call) const {
  const auto only = call.arguments.text("network"), state = call.arguments.text("state");
  const auto after = call.arguments.place("cursor");
  const std::size_t limit = call.arguments.limit();
  std::vector<const OperationalEvent*> sorted;
  if (ports_.operational_events)
    for (const OperationalEvent* one : ports_.operational_events())
      if ((!only || one->network == *only) &&
          (!state || (*state == "open") == !one->closed.has_value()))
        sorted.push_back(one);
  const auto place = [](const OperationalEvent* one) { return Place{one->opened, one->id}; };
  const auto newer = [](const Place& x, const Place& y) {
    return x.time != y.time ? x.time > y.time : x.id < y.id;
  };
  std::sort(sorted.begin(), sorted.end(),
            [&](const auto* x, const auto* y) { return newer(place(x), place(y)); });
  JsonWriter json;
  json.begin_object().key("items").begin_array();
  std::size_t shown = 0;
  const OperationalEvent *last = nullptr, *more = nullptr;
  for (const OperationalEvent* one : sorted) {
    if (after && !newer(*after, place(one))) continue;
    if (shown++ == limit) {
      more = one;
      break;
    }
    write_operational(json, *(last = one));
  }
  json.end_array().key("next");
  if (more && last) {
    json.string(cursor_of(place(last)));
  } else {
    json.null();
  }
  return json_response(200, json.end_object().take());
}

void Api::on_operational(const OperationalEvent& event) {
  JsonWriter json;
  write_operational(json, event);
  stream_.publish(event.closed ? "operational-closed" : "operational-opened", event.network,
                  json.text());
}

std::string Api::with_behind(std::string event, const std::string& id) const {
  const Behind* behind = ports_.behind ? ports_.behind(id) : nullptr;
  if (!behind || event.empty()) return event;
  JsonWriter json;
  write_behind(json, *behind);
  event.pop_back();
  return event + ",\"behind\":" + json.take() + "}";
}

}  // namespace outlierd::api
