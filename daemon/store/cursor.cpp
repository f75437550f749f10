#include "daemon/store/cursor.h"

#include <charconv>
#include <cstdint>
#include <span>

#include "daemon/store/crc32c.h"

namespace outlierd::store {
namespace {

constexpr const char* kDigits = "0123456789abcdef";
constexpr std::size_t kSumDigits = 8;

std::string sum_of(const std::string& plain) {
  const std::uint32_t sum = crc32c(std::as_bytes(std::span(plain)));
  std::string text;
  for (int shift = 28; shift >= 0; shift -= 4) text += kDigits[sum >> shift & 0xf];
  return text;
}

int digit_of(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

}  // namespace

std::string make_cursor(char kind, const std::vector<std::string>& keys) {
  std::string plain(1, kind);
  for (const std::string& key : keys) plain += '\0' + key;
  std::string text;
  for (char c : plain) {
    text += kDigits[static_cast<unsigned char>(c) >> 4];
    text += kDigits[static_cast<unsigned char>(c) & 0xf];
  }
  return text + sum_of(plain);
}

Outcome<std::vector<std::string>> read_cursor(char kind, std::size_t keys,
                                              const std::string& text) {
  const auto refuse = [] {
    return failure(StoreError::Kind::kInvalid, "the cursor is not one that this list gave out");
  };
  if (text.size() % 2 != 0 || text.size() < 2 + kSumDigits) return refuse();
  std::string plain;
  for (std::size_t i = 0; i + kSumDigits < text.size(); i += 2) {
    const int high = digit_of(text[i]), low = digit_of(text[i + 1]);
    if (high < 0 || low < 0) return refuse();
    plain += char(high << 4 | low);
  }
  if (text.substr(text.size() - kSumDigits) != sum_of(plain) || plain[0] != kind) return refuse();
  std::vector<std::string> found;
  for (std::size_t i = 1; i < plain.size(); ++i)
    if (plain[i] == '\0')
      found.emplace_back();
    else if (!found.empty())
      found.back() += plain[i];
  if (found.size() != keys) return refuse();
  return found;
}

std::int64_t number_of(const std::string& key) {
  std::int64_t number = 0;
  std::from_chars(key.data(), key.data() + key.size(), number);
  return number;
}

}  // namespace outlierd::store
