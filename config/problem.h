#pragma once
// What is wrong with a configuration, where, and what would be right.

#include <string>
#include <string_view>

namespace outlierd::config {

struct Problem {
  int line = 0, column = 0;  // from 1; 0 when the file could not be read at all
  std::string message;       // begins with the dotted path of the setting, where there is one

  bool operator==(const Problem&) const = default;
};

// "file:line:column: message", or "file: message" for a problem without a place.
std::string format(std::string_view file, const Problem& problem);

}  // namespace outlierd::config
