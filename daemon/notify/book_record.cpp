#include "daemon/notify/book_record.h"

#include <nlohmann/json.hpp>

namespace outlierd::notify {
namespace {

using Json = nlohmann::json;

std::string line_of(const Json& json) {
  return json.dump(-1, ' ', false, Json::error_handler_t::replace);
}

}  // namespace

std::string text_of(const BookRecord& record) {
  const EventNotice& event = record.event;
  return line_of({{"place", record.place},
                  {"labels", record.labels},
                  {"told", record.told},
                  {"changed", record.changed},
                  {"id", event.id},
                  {"network", event.network},
                  {"shape", event.shape},
                  {"direction", event.direction},
                  {"summary", event.summary},
                  {"opened", event.opened},
                  {"updated", event.updated},
                  {"closed", event.closed ? Json(*event.closed) : Json()},
                  {"peak_score", event.peak_score},
                  {"excess", event.excess},
                  {"origins", event.origins},
                  {"destinations", event.destinations},
                  {"acknowledged", event.acknowledged},
                  {"silenced", event.silenced}});
}

std::string text_of(const MarkRecord& record) {
  return line_of({{"opened", record.opened}, {"ids", record.ids}});
}

std::optional<BookRecord> parse_record(const std::string& text) try {
  const Json json = Json::parse(text);
  BookRecord record;
  json.at("place").get_to(record.place);
  json.at("labels").get_to(record.labels);
  json.at("told").get_to(record.told);
  json.at("changed").get_to(record.changed);
  EventNotice& event = record.event;
  json.at("id").get_to(event.id);
  json.at("network").get_to(event.network);
  json.at("shape").get_to(event.shape);
  json.at("direction").get_to(event.direction);
  json.at("summary").get_to(event.summary);
  json.at("opened").get_to(event.opened);
  json.at("updated").get_to(event.updated);
  if (!json.at("closed").is_null()) event.closed = json.at("closed").get<EpochSeconds>();
  // What is not finite is null in JSON.
  if (json.at("peak_score").is_number()) json.at("peak_score").get_to(event.peak_score);
  if (json.at("excess").is_number()) json.at("excess").get_to(event.excess);
  json.at("origins").get_to(event.origins);
  json.at("destinations").get_to(event.destinations);
  json.at("acknowledged").get_to(event.acknowledged);
  json.at("silenced").get_to(event.silenced);
  return record;
} catch (const Json::exception&) {
  return std::nullopt;
}

std::optional<MarkRecord> parse_mark(const std::string& text) try {
  const Json json = Json::parse(text);
  MarkRecord record;
  json.at("opened").get_to(record.opened);
  json.at("ids").get_to(record.ids);
  return record;
} catch (const Json::exception&) {
  return std::nullopt;
}

}  // namespace outlierd::notify
