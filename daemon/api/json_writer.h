#pragma once
// Writes JSON text as it goes: numbers in their shortest round-trip form, NaN and infinities as
// null, bytes that are not UTF-8 as U+FFFD. The caller keeps begin and end balanced.

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace outlierd::api {

class JsonWriter {
 public:
  JsonWriter& begin_object() { return open('{'); }
  JsonWriter& end_object() { return close('}'); }
  JsonWriter& begin_array() { return open('['); }
  JsonWriter& end_array() { return close(']'); }
  JsonWriter& key(std::string_view name);
  JsonWriter& string(std::string_view text);
  JsonWriter& number(double value);
  JsonWriter& number(float value);
  template <std::integral T>
  JsonWriter& number(T value) {
    return integer(std::int64_t(value));
  }
  JsonWriter& boolean(bool value) { return raw(value ? "true" : "false"); }
  JsonWriter& null() { return raw("null"); }
  JsonWriter& raw(std::string_view json);  // a whole value, already JSON
  JsonWriter& time(std::int64_t epoch_seconds);
  JsonWriter& time(const std::optional<std::int64_t>& epoch_seconds);

  void reserve(std::size_t bytes) { text_.reserve(bytes); }
  const std::string& text() const { return text_; }
  std::string take() { return std::move(text_); }

 private:
  JsonWriter& open(char bracket);
  JsonWriter& close(char bracket);
  JsonWriter& integer(std::int64_t value);
  void comma();

  std::string text_;
  bool first_ = true;  // nothing stands before the next value in its object or array
};

}  // namespace outlierd::api
