#pragma once
// The component schemas of /openapi.json, as JSON text: one object, schema by name.

#include <string>

namespace outlierd::api {

std::string component_schemas();

}  // namespace outlierd::api
