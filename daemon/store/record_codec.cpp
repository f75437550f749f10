#include "daemon/store/record_codec.h"

#include <array>
#include <cstdint>
#include <utility>

#include "core/byte_stream.h"

namespace outlierd::store {
namespace {

constexpr std::array<std::pair<Shape, const char*>, 8> kShapes = {{{Shape::kSpike, "spike"},
                                                                   {Shape::kDrop, "drop"},
                                                                   {Shape::kDdos, "ddos"},
                                                                   {Shape::kScan, "scan"},
                                                                   {Shape::kOutage, "outage"},
                                                                   {Shape::kShift, "shift"},
                                                                   {Shape::kLevel, "level"},
                                                                   {Shape::kNetwork, "network"}}};
constexpr std::size_t kCellBytes = 3 * 4 + 3 * 8;

bool read_places(ByteReader& in, std::size_t limit, std::vector<int>& out) {
  const auto count = in.number<std::uint32_t>();
  if (in.failed() || count > in.rest().size() / 4) return false;
  out.resize(count);
  for (int& place : out) {
    place = in.number<std::int32_t>();
    if (place < 0 || std::size_t(place) >= limit) return false;
  }
  return true;
}

}  // namespace

const char* stored_word(Shape shape) {
  for (const auto& [known, word] : kShapes)
    if (known == shape) return word;
  return "spike";
}

std::optional<Shape> stored_shape(std::string_view word) {
  for (const auto& [shape, known] : kShapes)
    if (known == word) return shape;
  return std::nullopt;
}

std::vector<std::byte> encode_members(const Event& event) {
  ByteWriter out;
  for (const auto* places : {&event.origins, &event.destinations}) {
    out.number(std::uint32_t(places->size()));
    for (int place : *places) out.number(std::int32_t(place));
  }
  out.number(std::uint32_t(event.cells.size()));
  for (const EventCell& cell : event.cells) {
    for (int place : {cell.origin, cell.destination, cell.metric}) out.number(std::int32_t(place));
    for (double number : {cell.observed, cell.expected, cell.score}) out.number(number);
  }
  return out.take();
}

bool decode_members(std::span<const std::byte> bytes, std::size_t nodes, std::size_t metrics,
                    Event& out) {
  ByteReader in(bytes);
  if (!read_places(in, nodes, out.origins) || !read_places(in, nodes, out.destinations))
    return false;
  const auto count = in.number<std::uint32_t>();
  if (in.failed() || in.rest().size() != count * kCellBytes) return false;
  out.cells.resize(count);
  for (EventCell& cell : out.cells) {
    cell.origin = in.number<std::int32_t>();
    cell.destination = in.number<std::int32_t>();
    cell.metric = in.number<std::int32_t>();
    cell.observed = in.number<double>();
    cell.expected = in.number<double>();
    cell.score = in.number<double>();
    const auto within = [](int place, std::size_t limit) {
      return place >= 0 && std::size_t(place) < limit;
    };
    if (!within(cell.origin, nodes) || !within(cell.destination, nodes) ||
        !within(cell.metric, metrics))
      return false;
  }
  return in.finished();
}

std::vector<std::byte> encode_numbers(std::span<const double> numbers) {
  ByteWriter out;
  out.numbers(numbers);
  return out.take();
}

std::vector<double> decode_numbers(std::span<const std::byte> bytes) {
  std::vector<double> numbers(bytes.size() / sizeof(double));
  ByteReader(bytes).numbers(std::span(numbers));
  return numbers;
}

}  // namespace outlierd::store
