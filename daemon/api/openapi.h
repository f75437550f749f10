#pragma once
// The OpenAPI 3.1 document, written from the table of routes.

#include <string>
#include <string_view>

namespace outlierd::api {

std::string openapi_document(std::string_view version);

}  // namespace outlierd::api
