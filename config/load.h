#pragma once
// From YAML to a Config, or every problem at once in the order of the file. Total: any bytes give
// one or the other, never an exception. Reads the time zone files and the file named, nothing else.

#include <filesystem>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/problem.h"
#include "config/schema.h"

namespace outlierd::config {

using Loaded = tl::expected<Config, std::vector<Problem>>;  // the problems are never none

Loaded load_text(std::string_view yaml);
Loaded load_file(const std::filesystem::path& file);

}  // namespace outlierd::config
