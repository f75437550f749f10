#include "daemon/ingest/json_message.h"

#include <fmt/format.h>

namespace outlierd::ingest {
namespace {

namespace dom = simdjson::dom;

Refusal malformed(simdjson::error_code error) {
  return refuse(RefusalReason::kMalformed,
                fmt::format("not a JSON object: {}", simdjson::error_message(error)));
}

std::optional<dom::array> array_of(dom::element value) {
  dom::array array;
  if (value.get_array().get(array) != simdjson::SUCCESS) return std::nullopt;
  return array;
}

std::optional<Refusal> read_text(std::string_view key, dom::element value,
                                 std::optional<std::string_view>& out) {
  if (!value.is_string()) return wrong_kind(key, "a string");
  out = value.get_string().value_unsafe();
  return std::nullopt;
}

// A volume or null; what is wrong with it, if anything.
std::optional<std::string> read_volume(dom::element value, double& out) {
  if (value.is_null()) {
    out = MatrixPart::kNotObserved;
    return std::nullopt;
  }
  if (value.get_double().get(out) != simdjson::SUCCESS) return "not a number";
  return problem_of_value(out);
}

std::optional<Refusal> read_values(dom::element value, MessageFields& fields) {
  const auto rows = array_of(value);
  if (!rows) return wrong_kind("values", "a list of rows");
  fields.has_values = true;
  for (const dom::element row : *rows) {
    const auto cells = array_of(row);
    if (!cells) return wrong_kind(fmt::format("values[{}]", fields.rows), "a list of numbers");
    std::size_t column = 0;
    for (const dom::element cell : *cells) {
      double volume = 0.0;
      if (const auto problem = read_volume(cell, volume))
        return refuse(RefusalReason::kNotANumber,
                      fmt::format("values[{}][{}]: {}", fields.rows, column, *problem));
      fields.values.push_back(volume);
      ++column;
    }
    if (fields.rows == 0) fields.columns = column;
    if (column != fields.columns)
      return refuse(RefusalReason::kBadShape,
                    fmt::format("values[{}]: {} numbers where values[0] has {}", fields.rows,
                                column, fields.columns));
    ++fields.rows;
  }
  return std::nullopt;
}

std::optional<Refusal> read_cells(dom::element value, MessageFields& fields) {
  const auto cells = array_of(value);
  if (!cells) return wrong_kind("cells", "a list of [origin, destination, value]");
  fields.has_cells = true;
  for (const dom::element cell : *cells) {
    const std::size_t k = fields.cells.size();
    const auto parts = array_of(cell);
    if (!parts || parts->size() != 3 || !parts->at(0).is_string() || !parts->at(1).is_string())
      return wrong_kind(fmt::format("cells[{}]", k), "[origin, destination, value]");
    NamedCell read{parts->at(0).get_string().value_unsafe(),
                   parts->at(1).get_string().value_unsafe()};
    if (const auto problem = read_volume(parts->at(2).value_unsafe(), read.value))
      return refuse(RefusalReason::kNotANumber, fmt::format("cells[{}]: {}", k, *problem));
    fields.cells.push_back(read);
  }
  return std::nullopt;
}

std::optional<Refusal> read_node_names(dom::element value, MessageFields& fields) {
  const auto names = array_of(value);
  if (!names) return wrong_kind("nodes", "a list of names");
  fields.nodes.emplace();
  for (const dom::element name : *names) {
    if (!name.is_string())
      return wrong_kind(fmt::format("nodes[{}]", fields.nodes->size()), "a string");
    fields.nodes->push_back(name.get_string().value_unsafe());
  }
  return std::nullopt;
}

std::optional<Refusal> read_field(std::string_view key, dom::element value, MessageFields& fields) {
  if (key == "network") return read_text(key, value, fields.network);
  if (key == "time") return read_text(key, value, fields.time);
  if (key == "source") return read_text(key, value, fields.source);
  if (key == "metric") return read_text(key, value, fields.metric);
  if (key == "rest") return read_text(key, value, fields.rest);
  if (key == "nodes") return read_node_names(value, fields);
  if (key == "values") return read_values(value, fields);
  if (key == "cells") return read_cells(value, fields);
  if (key == "complete") {
    if (!value.is_bool()) return wrong_kind(key, "true or false");
    fields.complete = value.get_bool().value_unsafe();
    return std::nullopt;
  }
  if (key == "sequence") {
    std::uint64_t sequence = 0;
    if (value.get_uint64().get(sequence) != simdjson::SUCCESS)
      return wrong_kind(key, "a whole number, not negative");
    fields.sequence = sequence;
    return std::nullopt;
  }
  return refuse(RefusalReason::kBadField, fmt::format("{}: not a known key", key.substr(0, 64)));
}

}  // namespace

std::optional<Refusal> read_json(dom::parser& parser, std::string_view text,
                                 MessageFields& fields) {
  dom::element document;
  if (const auto error = parser.parse(text.data(), text.size(), false).get(document))
    return malformed(error);
  dom::object object;
  if (const auto error = document.get_object().get(object)) return malformed(error);
  std::uint32_t seen = 0;  // a bit a key, so that a second one cannot add to what was read
  constexpr std::string_view kKeys[] = {"network", "time",   "source", "metric",   "rest",
                                        "nodes",   "values", "cells",  "complete", "sequence"};
  for (const auto& [key, value] : object) {
    for (std::size_t k = 0; k < std::size(kKeys); ++k)
      if (key == kKeys[k]) {
        if (seen >> k & 1)
          return refuse(RefusalReason::kBadField, fmt::format("{}: given twice", key));
        seen |= 1u << k;
      }
    if (auto refusal = read_field(key, value, fields)) return refusal;
  }
  return std::nullopt;
}

}  // namespace outlierd::ingest
