#pragma once
// The form of data/injected/*.labels.json as eval/inject.py writes them, as a JSON schema (the few
// keywords it needs), and a check against it.

#include <nlohmann/json.hpp>
#include <regex>
#include <string>

namespace outlierd::test {

inline const nlohmann::json& label_schema() {
  static const auto kSchema = nlohmann::json::parse(R"({
    "type": "object",
    "required": ["source", "start", "days", "seed", "step_s", "clean_until_bin", "note", "labels"],
    "properties": {
      "source": {"type": "string"},
      "start": {"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\d(T\\d\\d:\\d\\d:\\d\\d)?$"},
      "days": {"type": "number"},
      "seed": {"type": "integer"},
      "profile": {"type": "string", "pattern": "^(subtle|material)$"},
      "step_s": {"type": "number"},
      "clean_until_bin": {"type": "integer"},
      "note": {"type": "string"},
      "labels": {"type": "array", "items": {
        "type": "object",
        "required": ["kind", "start", "end", "first_bin", "bins", "size", "pairs"],
        "properties": {
          "kind": {"type": "string", "pattern": "^(spike|ddos|flash|scan|outage|shift|ramp|dip|step)$"},
          "start": {"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"},
          "end": {"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"},
          "first_bin": {"type": "integer"},
          "bins": {"type": "integer"},
          "size": {"type": "number"},
          "pairs": {"type": "array", "items": {"type": "string", "pattern": "^[^>]+>[^>]+$"}}
        }}}}})");
  return kSchema;
}

// Empty when the value has the form; else what is wrong first.
inline std::string schema_problem(const nlohmann::json& value,
                                  const nlohmann::json& schema = label_schema(),
                                  const std::string& name = "the document") {
  const std::string type = schema["type"];
  const bool right = type == "object"    ? value.is_object()
                     : type == "array"   ? value.is_array()
                     : type == "string"  ? value.is_string()
                     : type == "integer" ? value.is_number_integer()
                                         : value.is_number();
  if (!right) return name + " is not of type " + type;
  if (schema.contains("pattern") &&
      !std::regex_search(value.get<std::string>(),
                         std::regex(schema["pattern"].get<std::string>())))
    return name + " does not match: " + value.get<std::string>();
  if (type == "array")
    for (const auto& item : value)
      if (auto problem = schema_problem(item, schema["items"], name + "[]"); !problem.empty())
        return problem;
  if (type != "object") return "";
  for (const auto& [key, of_key] : schema["properties"].items()) {
    const auto& required = schema["required"];
    if (!value.contains(key)) {
      if (std::find(required.begin(), required.end(), key) != required.end())
        return key + " is missing";
      continue;
    }
    if (auto problem = schema_problem(value[key], of_key, key); !problem.empty()) return problem;
  }
  for (const auto& [key, member] : value.items())
    if (!schema["properties"].contains(key)) return key + " is not known";
  return "";
}

}  // namespace outlierd::test
