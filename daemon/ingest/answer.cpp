#include "daemon/ingest/answer.h"

#include <fmt/format.h>
#include <simdjson.h>

#include "core/traffic/time_text.h"

namespace outlierd::ingest {
namespace {

std::string json_quoted(std::string_view text) {
  std::string out = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      out += '\\';
      out += c;
    } else if (static_cast<unsigned char>(c) < 0x20) {
      out += fmt::format("\\u{:04x}", int(c));
    } else {
      out += c;
    }
  }
  return out + '"';
}

}  // namespace

std::string accepted_answer(const std::string& network, EpochSeconds time, std::size_t cells) {
  return fmt::format(R"({{"ok":true,"network":{},"time":"{}","cells":{}}})", json_quoted(network),
                     time_text(time), cells);
}

std::string refused_answer(std::uint64_t line, std::string_view error) {
  return fmt::format(R"({{"ok":false,"line":{},"error":{}}})", line, json_quoted(error));
}

std::string not_durable_answer(std::uint64_t line) {
  return fmt::format(R"({{"ok":false,"line":{},"error":"not durable","retry":true}})", line);
}

std::string welcome_answer() { return R"({"ok":true})"; }

std::string token_of(std::string_view line) {
  simdjson::dom::parser parser;
  std::string_view token;
  if (parser.parse(line.data(), line.size(), false)["token"].get(token)) return {};
  return std::string(token);
}

}  // namespace outlierd::ingest
