#pragma once
// Structured logs: a name, then fields: event=journal_failed reason="No space left on device".
// Lower case; info is rare and means something to an operator. A name that repeats within ten
// seconds is counted instead, and the count comes with the next one (repeated=41); a name with a
// notifier counts for that notifier alone. Any thread.

#include <initializer_list>
#include <string>
#include <string_view>

#include "config/schema.h"

namespace outlierd::log {

struct Field {
  std::string_view key;
  std::string value;
};
using Fields = std::initializer_list<Field>;

void start(const config::Log& settings);  // before: text, info and above

void debug(std::string_view event, Fields fields = {});
void info(std::string_view event, Fields fields = {});
void warn(std::string_view event, Fields fields = {});
void error(std::string_view event, Fields fields = {});

}  // namespace outlierd::log
