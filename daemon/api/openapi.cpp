#include "daemon/api/openapi.h"

#include <nlohmann/json.hpp>

#include "daemon/api/routes.h"
#include "daemon/api/schemas.h"

namespace outlierd::api {
namespace {

using OrderedJson = nlohmann::ordered_json;

OrderedJson reference(std::string_view schema) {
  return {{"$ref", "#/components/schemas/" + std::string(schema)}};
}

OrderedJson schema_of(const Parameter& parameter) {
  switch (parameter.kind) {
    case ParameterKind::kTime:
      return {{"type", "string"}, {"format", "date-time"}};
    case ParameterKind::kInteger:
      return {{"type", "integer"},
              {"minimum", std::int64_t(parameter.low)},
              {"maximum", std::int64_t(parameter.high)}};
    case ParameterKind::kNumber:
      return {{"type", "number"}, {"minimum", parameter.low}, {"maximum", parameter.high}};
    case ParameterKind::kChoice:
      return {{"type", "string"}, {"enum", parameter.choices}};
    case ParameterKind::kChoices:
      return {{"type", "array"},
              {"minItems", 1},
              {"uniqueItems", true},
              {"items", {{"type", "string"}, {"enum", parameter.choices}}}};
    case ParameterKind::kCursor:
      return {{"type", "string"}, {"pattern", "^[0-9a-f]+$"}, {"maxLength", 2 * kLongestText}};
    case ParameterKind::kText:
      break;
  }
  return {{"type", "string"}, {"minLength", 1}, {"maxLength", kLongestText}};
}

OrderedJson parameter_of(const Parameter& parameter) {
  static constexpr const char* kPlaces[] = {"path", "query", "header"};
  OrderedJson json = {{"name", parameter.name},
                      {"in", kPlaces[int(parameter.place)]},
                      {"description", parameter.description},
                      {"required", parameter.required},
                      {"schema", schema_of(parameter)}};
  if (parameter.kind == ParameterKind::kChoices) {
    json["style"] = "form";
    json["explode"] = false;
  }
  return json;
}

OrderedJson body_of(const Route& route) {
  OrderedJson content = OrderedJson::object();
  for (std::string_view type : route.body_types) {
    // Lines and CBOR are sequences and bytes to OpenAPI; their items are as the JSON schema says.
    content[std::string(type)]["schema"] =
        type == "application/json" ? reference(route.body_schema) : OrderedJson::object();
  }
  return {{"required", route.body_required}, {"content", content}};
}

OrderedJson answers_json(const Route& route) {
  OrderedJson answers = OrderedJson::object();
  for (const Answer& answer : answers_of(route)) {
    OrderedJson json = {{"description", answer.description}};
    std::string media(answer.media);
    if (answer.schema == "Problem") media = "application/problem+json";
    if (!answer.schema.empty()) {
      json["content"][media]["schema"] = reference(answer.schema);
    } else if (media != "application/json") {
      json["content"][media]["schema"] = {{"type", "string"}};
    }
    if (answer.status == 401) json["headers"]["WWW-Authenticate"]["schema"] = {{"type", "string"}};
    answers[std::to_string(answer.status)] = json;
  }
  return answers;
}

}  // namespace

std::string openapi_document(std::string_view version) {
  OrderedJson document = {
      {"openapi", "3.1.0"},
      {"info",
       {{"title", "outlierd"},
        {"version", version},
        {"description",
         "Watches the traffic between the nodes of a network and says what does not belong. Times "
         "are RFC 3339; from is inclusive, to exclusive. Lists are {items, next}."},
        {"license", {{"name", "Apache-2.0"}, {"identifier", "Apache-2.0"}}}}},
      {"paths", OrderedJson::object()}};
  for (const Route& route : routes()) {
    OrderedJson operation = {{"operationId", route.name}, {"summary", route.summary}};
    for (const Parameter& parameter : route.parameters)
      operation["parameters"].push_back(parameter_of(parameter));
    if (!route.body_types.empty()) operation["requestBody"] = body_of(route);
    operation["responses"] = answers_json(route);
    if (route.role == Role::kNone) {
      operation["security"] = OrderedJson::array();
    } else {
      operation["x-role"] = name_of(route.role);
    }
    std::string method(route.method);
    for (char& c : method) c = char(c - 'A' + 'a');
    document["paths"][std::string(route.pattern)][method] = operation;
  }
  document["components"]["schemas"] = OrderedJson::parse(component_schemas());
  document["components"]["securitySchemes"]["token"] = {{"type", "http"}, {"scheme", "bearer"}};
  document["security"] =
      OrderedJson::array({OrderedJson::object(), {{"token", OrderedJson::array()}}});
  return document.dump();
}

}  // namespace outlierd::api
