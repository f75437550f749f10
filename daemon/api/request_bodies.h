#pragma once
// What operators send, from JSON to checked values. Total: a value or the reason why not.

#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "daemon/api/history.h"

namespace outlierd::api {

struct AckBody {
  std::optional<std::string> by;
  std::string comment;
};
tl::expected<AckBody, std::string> parse_ack(std::string_view body);  // empty: {}

// {"mark":"false_alarm" or "expected" or "" to take it back}; without time.
tl::expected<Feedback, std::string> parse_feedback(std::string_view body);

// Without id, created and, unless it is said, created_by. Begins now unless said.
tl::expected<Silence, std::string> parse_silence(std::string_view body, EpochSeconds now);

// {"path":"/..."}: an absolute path.
tl::expected<std::string, std::string> parse_backup(std::string_view body);

}  // namespace outlierd::api
