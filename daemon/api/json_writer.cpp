#include "daemon/api/json_writer.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>

#include "daemon/api/http_text.h"
#include "daemon/api/time_text.h"

namespace outlierd::api {
namespace {

template <class T>
void append_number(std::string& text, T value) {
  char digits[32];
  const auto [end, error] = std::to_chars(digits, digits + sizeof digits, value);
  text.append(digits, error == std::errc{} ? end : digits);
}

bool needs_escape(char c) { return c == '"' || c == '\\' || static_cast<unsigned char>(c) < 0x20; }

void append_escaped(std::string& text, char c) {
  switch (c) {
    case '"':
      text += "\\\"";
      return;
    case '\\':
      text += "\\\\";
      return;
    case '\n':
      text += "\\n";
      return;
    case '\r':
      text += "\\r";
      return;
    case '\t':
      text += "\\t";
      return;
    default:
      break;
  }
  if (static_cast<unsigned char>(c) >= 0x20) {
    text += c;
    return;
  }
  char escape[8];
  std::snprintf(escape, sizeof escape, "\\u%04x", unsigned(static_cast<unsigned char>(c)));
  text += escape;
}

void append_repaired(std::string& text, std::string_view damaged) {
  for (std::size_t k = 0; k < damaged.size();) {
    std::size_t length = 1;
    while (length <= 4 && !valid_utf8(damaged.substr(k, length))) ++length;
    if (length > 4) {
      text += "\xEF\xBF\xBD";
      ++k;
      continue;
    }
    length = std::min(length, damaged.size() - k);
    if (length == 1) {
      append_escaped(text, damaged[k]);
    } else {
      text += damaged.substr(k, length);
    }
    k += length;
  }
}

}  // namespace

void JsonWriter::comma() {
  if (!first_) text_ += ',';
  first_ = false;
}

JsonWriter& JsonWriter::open(char bracket) {
  comma();
  text_ += bracket;
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::close(char bracket) {
  text_ += bracket;
  first_ = false;
  return *this;
}

JsonWriter& JsonWriter::key(std::string_view name) {
  string(name);
  text_ += ':';
  first_ = true;
  return *this;
}

JsonWriter& JsonWriter::string(std::string_view text) {
  comma();
  text_ += '"';
  if (valid_utf8(text)) {
    while (!text.empty()) {  // what needs no escape goes over in one piece
      const std::size_t plain =
          std::size_t(std::find_if(text.begin(), text.end(), needs_escape) - text.begin());
      text_.append(text.substr(0, plain));
      text.remove_prefix(plain);
      if (text.empty()) break;
      append_escaped(text_, text[0]);
      text.remove_prefix(1);
    }
  } else {
    append_repaired(text_, text);
  }
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::number(double value) {
  if (!std::isfinite(value)) return null();
  comma();
  append_number(text_, value);
  return *this;
}

JsonWriter& JsonWriter::number(float value) {
  if (!std::isfinite(value)) return null();
  comma();
  append_number(text_, value);
  return *this;
}

JsonWriter& JsonWriter::integer(std::int64_t value) {
  comma();
  append_number(text_, value);
  return *this;
}

JsonWriter& JsonWriter::raw(std::string_view json) {
  comma();
  text_ += json;
  return *this;
}

JsonWriter& JsonWriter::time(std::int64_t epoch_seconds) {
  comma();
  text_ += '"';
  text_ += time_text(epoch_seconds);
  text_ += '"';
  return *this;
}

JsonWriter& JsonWriter::time(const std::optional<std::int64_t>& epoch_seconds) {
  return epoch_seconds ? time(*epoch_seconds) : null();
}

}  // namespace outlierd::api
