#pragma once
// Where a page of a list ended: the key of its last row, as text that means nothing to others and
// is refused when it was changed. Rows added later do not move it.

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "daemon/store/error.h"

namespace outlierd::store {

// kind: which list; keys hold no NUL.
std::string make_cursor(char kind, const std::vector<std::string>& keys);
// kInvalid unless it is a cursor of that list with that many keys.
Outcome<std::vector<std::string>> read_cursor(char kind, std::size_t keys, const std::string& text);
// Of a key that make_cursor was given as a number.
std::int64_t number_of(const std::string& key);

}  // namespace outlierd::store
