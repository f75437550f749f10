#pragma once
// Entries of an AlertBook as they are kept on disk: JSON, one line each. Parsing is total.

#include <set>

#include "daemon/notify/alert.h"

namespace outlierd::notify {

struct BookRecord {
  std::uint64_t place = 0;
  Words labels;
  EventNotice event;
  EpochSeconds told = 0;
  bool changed = false;
};
struct MarkRecord {
  EpochSeconds opened = 0;
  std::set<std::string> ids;
};

std::string text_of(const BookRecord& record);
std::string text_of(const MarkRecord& record);
std::optional<BookRecord> parse_record(const std::string& text);
std::optional<MarkRecord> parse_mark(const std::string& text);

}  // namespace outlierd::notify
