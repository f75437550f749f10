#pragma once
// A file of prefixes beside those of the configuration: one "prefix,node" a line, such as
// 192.0.2.0/24,ATLA. Empty lines and what follows a # are skipped, a first line "prefix,node" too.
// Total: prefixes, or what is wrong with which lines (the first hundred).

#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "config/schema.h"

namespace outlierd::config {

tl::expected<std::vector<PrefixNode>, std::vector<std::string>> parse_prefix_file(
    std::string_view text, const std::vector<std::string>& nodes);
// The same of a file; each problem begins with its path.
tl::expected<std::vector<PrefixNode>, std::vector<std::string>> load_prefix_file(
    const std::string& path, const std::vector<std::string>& nodes);

}  // namespace outlierd::config
