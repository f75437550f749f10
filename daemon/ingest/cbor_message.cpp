#include "daemon/ingest/cbor_message.h"

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstring>

namespace outlierd::ingest {
namespace {

enum Major : std::uint8_t { kUnsigned, kNegative, kBytes, kText, kArray, kMap, kTag, kSimple };
constexpr std::uint64_t kFloat32Array = 85, kFloat64Array = 86;  // little endian
constexpr std::uint64_t kFalse = 20, kTrue = 21, kNull = 22, kUndefined = 23;

struct Head {
  Major major = kUnsigned;
  int info = 0;  // the low five bits
  std::uint64_t argument = 0;
};

Refusal malformed(const char* why) {
  return refuse(RefusalReason::kMalformed, fmt::format("not CBOR as wanted: {}", why));
}

double half_to_double(std::uint64_t bits) {
  const int exponent = int(bits >> 10 & 0x1f);
  const double mantissa = double(bits & 0x3ff);
  const double size = exponent == 0    ? std::ldexp(mantissa, -24)
                      : exponent == 31 ? (mantissa == 0 ? INFINITY : NAN)
                                       : std::ldexp(mantissa + 1024, exponent - 25);
  return bits >> 15 ? -size : size;
}

class Reader {
 public:
  explicit Reader(std::span<const std::byte> bytes) : rest_(bytes) {}

  bool at_end() const { return rest_.empty(); }

  std::optional<Head> head() {
    if (rest_.empty()) return std::nullopt;
    const auto first = std::to_integer<std::uint8_t>(rest_.front());
    rest_ = rest_.subspan(1);
    Head found{Major(first >> 5), first & 0x1f, std::uint64_t(first & 0x1f)};
    if (found.info < 24) return found;
    if (found.info > 27) return std::nullopt;  // reserved, or of indefinite length
    const std::size_t size = std::size_t{1} << (found.info - 24);
    if (rest_.size() < size) return std::nullopt;
    found.argument = 0;
    for (std::size_t i = 0; i < size; ++i)
      found.argument = found.argument << 8 | std::to_integer<std::uint8_t>(rest_[i]);
    rest_ = rest_.subspan(size);
    return found;
  }
  std::optional<std::span<const std::byte>> take(std::uint64_t size) {
    if (size > rest_.size()) return std::nullopt;
    const auto taken = rest_.first(std::size_t(size));
    rest_ = rest_.subspan(std::size_t(size));
    return taken;
  }
  std::optional<std::string_view> text() {
    const auto at = head();
    if (!at || at->major != kText) return std::nullopt;
    const auto bytes = take(at->argument);
    if (!bytes) return std::nullopt;
    return std::string_view(reinterpret_cast<const char*>(bytes->data()), bytes->size());
  }
  // Items left in a list: never more than there are bytes.
  std::optional<std::uint64_t> list(Major major) {
    const auto at = head();
    if (!at || at->major != major || at->argument > rest_.size()) return std::nullopt;
    return at->argument;
  }
  // A number, or NaN for null.
  std::optional<double> number() {
    const auto at = head();
    if (!at) return std::nullopt;
    if (at->major == kUnsigned) return double(at->argument);
    if (at->major == kNegative) return -1.0 - double(at->argument);
    if (at->major != kSimple) return std::nullopt;
    if (at->info == 25) return half_to_double(at->argument);
    if (at->info == 26) return double(std::bit_cast<float>(std::uint32_t(at->argument)));
    if (at->info == 27) return std::bit_cast<double>(at->argument);
    if (at->argument == kNull || at->argument == kUndefined) return MatrixPart::kNotObserved;
    return std::nullopt;
  }
  std::optional<Head> peek() {
    const auto before = rest_;
    const auto found = head();
    rest_ = before;
    return found;
  }

 private:
  std::span<const std::byte> rest_;
};

std::optional<Refusal> check_volume(double value, std::size_t row, std::size_t column) {
  if (std::isnan(value)) return std::nullopt;
  if (const auto problem = problem_of_value(value))
    return refuse(RefusalReason::kNotANumber,
                  fmt::format("values[{}][{}]: {}", row, column, *problem));
  return std::nullopt;
}

// A packed array is square: rows are as long as there are rows.
template <class Float>
std::optional<Refusal> read_packed(std::span<const std::byte> bytes, MessageFields& fields) {
  if (bytes.size() % sizeof(Float) != 0)
    return refuse(RefusalReason::kBadShape, "values: half a number at the end");
  const std::size_t count = bytes.size() / sizeof(Float);
  const auto side = std::size_t(std::llround(std::sqrt(double(count))));
  if (side * side != count)
    return refuse(RefusalReason::kBadShape,
                  fmt::format("values: {} packed numbers are not a square matrix", count));
  fields.rows = fields.columns = side;
  fields.values.resize(count);
  Float largest = 0, smallest = 0;
  for (std::size_t k = 0; k < count; ++k) {
    Float value;
    std::memcpy(&value, bytes.data() + k * sizeof(Float), sizeof(Float));
    if constexpr (std::endian::native == std::endian::big) {
      auto* raw = reinterpret_cast<std::byte*>(&value);
      for (std::size_t i = 0; i < sizeof(Float) / 2; ++i)
        std::swap(raw[i], raw[sizeof(Float) - 1 - i]);
    }
    largest = value > largest ? value : largest;
    smallest = value < smallest ? value : smallest;
    fields.values[k] = double(value);
  }
  if (smallest >= 0 && !problem_of_value(double(largest))) return std::nullopt;
  for (std::size_t k = 0; k < count; ++k)
    if (auto refusal = check_volume(fields.values[k], k / side, k % side)) return refusal;
  return std::nullopt;
}

std::optional<Refusal> read_values(Reader& reader, MessageFields& fields) {
  fields.has_values = true;
  const auto next = reader.peek();
  if (next && next->major == kTag) {
    reader.head();
    const auto body = reader.head();
    if (!body || body->major != kBytes) return wrong_kind("values", "a byte string under its tag");
    const auto bytes = reader.take(body->argument);
    if (!bytes) return malformed("it ends in the middle");
    if (next->argument == kFloat32Array) return read_packed<float>(*bytes, fields);
    if (next->argument == kFloat64Array) return read_packed<double>(*bytes, fields);
    return wrong_kind("values", "rows, or packed floats of tag 85 or 86");
  }
  const auto rows = reader.list(kArray);
  if (!rows) return wrong_kind("values", "a list of rows");
  for (; fields.rows < *rows; ++fields.rows) {
    const auto columns = reader.list(kArray);
    if (!columns) return wrong_kind(fmt::format("values[{}]", fields.rows), "a list of numbers");
    if (fields.rows == 0) fields.columns = std::size_t(*columns);
    if (*columns != fields.columns)
      return refuse(RefusalReason::kBadShape,
                    fmt::format("values[{}]: {} numbers where values[0] has {}", fields.rows,
                                *columns, fields.columns));
    for (std::size_t j = 0; j < fields.columns; ++j) {
      const auto value = reader.number();
      if (!value)
        return refuse(RefusalReason::kNotANumber,
                      fmt::format("values[{}][{}]: not a number", fields.rows, j));
      if (auto refusal = check_volume(*value, fields.rows, j)) return refusal;
      fields.values.push_back(*value);
    }
  }
  return std::nullopt;
}

std::optional<Refusal> read_cells(Reader& reader, MessageFields& fields) {
  fields.has_cells = true;
  const auto count = reader.list(kArray);
  if (!count) return wrong_kind("cells", "a list of [origin, destination, value]");
  for (std::uint64_t k = 0; k < *count; ++k) {
    const auto parts = reader.list(kArray);
    std::optional<std::string_view> origin, destination;
    if (parts && *parts == 3) {
      origin = reader.text();
      if (origin) destination = reader.text();
    }
    if (!origin || !destination)
      return wrong_kind(fmt::format("cells[{}]", k), "[origin, destination, value]");
    const auto value = reader.number();
    const auto problem = !value               ? std::optional<std::string>("not a number")
                         : std::isnan(*value) ? std::nullopt
                                              : problem_of_value(*value);
    if (problem)
      return refuse(RefusalReason::kNotANumber, fmt::format("cells[{}]: {}", k, *problem));
    fields.cells.push_back({*origin, *destination, *value});
  }
  return std::nullopt;
}

std::optional<Refusal> read_node_names(Reader& reader, MessageFields& fields) {
  const auto count = reader.list(kArray);
  if (!count) return wrong_kind("nodes", "a list of names");
  fields.nodes.emplace();
  for (std::uint64_t k = 0; k < *count; ++k) {
    const auto name = reader.text();
    if (!name) return wrong_kind(fmt::format("nodes[{}]", k), "a string");
    fields.nodes->push_back(*name);
  }
  return std::nullopt;
}

std::optional<Refusal> read_field(std::string_view key, Reader& reader, MessageFields& fields) {
  const auto text = [&](std::optional<std::string_view>& out) -> std::optional<Refusal> {
    if (out) return refuse(RefusalReason::kBadField, fmt::format("{}: given twice", key));
    out = reader.text();
    if (!out) return wrong_kind(key, "a string");
    return std::nullopt;
  };
  if (key == "network") return text(fields.network);
  if (key == "time") return text(fields.time);
  if (key == "source") return text(fields.source);
  if (key == "metric") return text(fields.metric);
  if (key == "rest") return text(fields.rest);
  const bool again = (key == "nodes" && fields.nodes) || (key == "values" && fields.has_values) ||
                     (key == "cells" && fields.has_cells);
  if (again) return refuse(RefusalReason::kBadField, fmt::format("{}: given twice", key));
  if (key == "nodes") return read_node_names(reader, fields);
  if (key == "values") return read_values(reader, fields);
  if (key == "cells") return read_cells(reader, fields);
  const auto at = key == "complete" || key == "sequence" ? reader.head() : std::nullopt;
  if (key == "complete") {
    if (!at || at->major != kSimple || at->info >= 24 ||
        (at->argument != kTrue && at->argument != kFalse))
      return wrong_kind(key, "true or false");
    fields.complete = at->argument == kTrue;
    return std::nullopt;
  }
  if (key == "sequence") {
    if (!at || at->major != kUnsigned) return wrong_kind(key, "a whole number, not negative");
    fields.sequence = at->argument;
    return std::nullopt;
  }
  return refuse(RefusalReason::kBadField, fmt::format("{}: not a known key", key.substr(0, 64)));
}

}  // namespace

std::optional<Refusal> read_cbor(std::span<const std::byte> bytes, MessageFields& fields) {
  Reader reader(bytes);
  const auto entries = reader.list(kMap);
  if (!entries) return malformed("it must be a map of definite length");
  for (std::uint64_t k = 0; k < *entries; ++k) {
    const auto key = reader.text();
    if (!key) return malformed("a key must be a text string");
    if (auto refusal = read_field(*key, reader, fields)) return refusal;
  }
  if (!reader.at_end()) return malformed("something follows the map");
  return std::nullopt;
}

}  // namespace outlierd::ingest
