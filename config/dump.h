#pragma once
// The effective configuration as YAML: every key, in canonical form, secrets hidden. Loading it
// gives an equal Config, unless a password in a URL was hidden: then it is refused.

#include <string>

#include "config/schema.h"

namespace outlierd::config {

std::string dump(const Config& config);

}  // namespace outlierd::config
