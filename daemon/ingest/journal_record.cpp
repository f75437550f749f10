#include "daemon/ingest/journal_record.h"

#include <algorithm>
#include <cmath>

#include "core/byte_stream.h"

namespace outlierd::ingest {
namespace {

constexpr std::uint8_t kPart = 1, kClose = 2;
constexpr std::uint8_t kMemoryVersion = 1;
enum Flag : std::uint8_t {
  kHasSequence = 1,
  kComplete = 2,
  kSparse = 4,
  kRestIsZero = 8,
  kSinglePrecision = 16,  // every value is a float, and kept as one
};

void put_text(ByteWriter& out, std::string_view text) {
  out.number(std::uint32_t(text.size()));
  out.numbers(std::span<const char>(text.data(), text.size()));
}

// A list of `count` entries of `size` bytes each cannot be longer than what is left.
bool fits(const ByteReader& in, std::uint64_t count, std::size_t size) {
  return count <= in.rest().size() / size;
}

std::optional<std::string> get_text(ByteReader& in) {
  const auto size = in.number<std::uint32_t>();
  if (in.failed() || !fits(in, size, 1)) return std::nullopt;
  std::string text(size, '\0');
  in.numbers(std::span<char>(text));
  return text;
}

template <class T>
std::optional<std::vector<T>> get_numbers(ByteReader& in) {
  const auto count = in.number<std::uint64_t>();
  if (in.failed() || !fits(in, count, sizeof(T))) return std::nullopt;
  std::vector<T> numbers(count);
  in.numbers(std::span<T>(numbers));
  return numbers;
}

bool is_single_precision(const std::vector<double>& values) {
  return std::all_of(values.begin(), values.end(), [](double value) {
    return std::isnan(value) || double(float(value)) == value;
  });
}

// Pairs of the part's nodes to pairs of the network's; those of nodes gone are left out.
void rearrange(MatrixPart& part, const std::vector<std::string>& names, const KnownNetwork& known) {
  if (names == known.network().nodes) return;
  const std::size_t then = names.size(), now = known.network().nodes.size();
  std::vector<int> place;
  for (const std::string& name : names) place.push_back(known.node(name));
  const auto pair_now = [&](std::size_t pair) {
    const int origin = place[pair / then], destination = place[pair % then];
    return origin < 0 || destination < 0
               ? -1
               : std::ptrdiff_t(origin) * std::ptrdiff_t(now) + destination;
  };
  if (part.sparse) {
    std::size_t kept = 0;
    for (std::size_t k = 0; k < part.pairs.size(); ++k) {
      const std::ptrdiff_t pair = pair_now(part.pairs[k]);
      if (pair < 0) continue;
      part.pairs[kept] = std::uint32_t(pair);
      part.values[kept++] = part.values[k];
    }
    part.pairs.resize(kept);
    part.values.resize(kept);
    return;
  }
  std::vector<double> values(now * now, MatrixPart::kNotObserved);
  for (std::size_t pair = 0; pair < part.values.size(); ++pair)
    if (const std::ptrdiff_t to = pair_now(pair); to >= 0)
      values[std::size_t(to)] = part.values[pair];
  part.values = std::move(values);
}

bool is_sound(const MatrixPart& part, std::size_t nodes) {
  const std::size_t pairs = nodes * nodes;
  if (!part.sparse) return part.values.size() == pairs && part.pairs.empty();
  return part.values.size() == part.pairs.size() &&
         std::all_of(part.pairs.begin(), part.pairs.end(), [&](auto pair) { return pair < pairs; });
}

std::optional<JournalRecord> decode_part(ByteReader& in, const NetworkDirectory& networks) {
  PartRecord record;
  const auto network = get_text(in);
  record.received = in.number<std::int64_t>();
  record.part.time = in.number<std::int64_t>();
  const auto metric = network ? get_text(in) : std::nullopt;
  const auto source = metric ? get_text(in) : std::nullopt;
  if (!source) return std::nullopt;
  const auto flags = in.number<std::uint8_t>();
  const auto sequence = in.number<std::uint64_t>();
  std::vector<std::string> names;
  const auto nodes = in.number<std::uint32_t>();
  if (!fits(in, nodes, sizeof(std::uint32_t))) return std::nullopt;
  for (std::uint32_t k = 0; k < nodes; ++k) {
    auto name = get_text(in);
    if (!name) return std::nullopt;
    names.push_back(std::move(*name));
  }
  MatrixPart& part = record.part;
  part.source = *source;
  if (flags & kHasSequence) part.sequence = sequence;
  part.complete = flags & kComplete;
  part.sparse = flags & kSparse;
  part.rest_is_zero = flags & kRestIsZero;
  auto pairs = get_numbers<std::uint32_t>(in);
  if (!pairs) return std::nullopt;
  part.pairs = std::move(*pairs);
  if (flags & kSinglePrecision) {
    const auto values = get_numbers<float>(in);
    if (!values) return std::nullopt;
    part.values.assign(values->begin(), values->end());
  } else {
    auto values = get_numbers<double>(in);
    if (!values) return std::nullopt;
    part.values = std::move(*values);
  }
  if (!in.finished() || !is_sound(part, names.size())) return std::nullopt;
  const auto known = networks.find(*network);
  if (known == networks.end()) return std::nullopt;
  part.metric = known->second.metric(*metric);
  if (part.metric < 0 || part.time % known->second.network().bin_seconds != 0) return std::nullopt;
  rearrange(part, names, known->second);
  record.network = *network;
  return record;
}

}  // namespace

std::vector<std::byte> encode_part(const Network& network, EpochSeconds received,
                                   const MatrixPart& part) {
  const bool single = is_single_precision(part.values);
  ByteWriter out;
  out.reserve(256 + part.values.size() * (single ? 4 : 8) + part.pairs.size() * 4);
  out.number(kPart);
  put_text(out, network.name);
  out.number(std::int64_t(received));
  out.number(std::int64_t(part.time));
  put_text(out, network.metrics[std::size_t(part.metric)]);
  put_text(out, part.source);
  out.number(std::uint8_t((part.sequence ? kHasSequence : 0) | (part.complete ? kComplete : 0) |
                          (part.sparse ? kSparse : 0) | (part.rest_is_zero ? kRestIsZero : 0) |
                          (single ? kSinglePrecision : 0)));
  out.number(part.sequence.value_or(0));
  out.number(std::uint32_t(network.nodes.size()));
  for (const std::string& node : network.nodes) put_text(out, node);
  out.number(std::uint64_t(part.pairs.size()));
  out.numbers(std::span<const std::uint32_t>(part.pairs));
  out.number(std::uint64_t(part.values.size()));
  if (single) {
    const std::vector<float> values(part.values.begin(), part.values.end());
    out.numbers(std::span<const float>(values));
  } else {
    out.numbers(std::span<const double>(part.values));
  }
  return out.take();
}

std::vector<std::byte> encode_close(const std::string& network, EpochSeconds time) {
  ByteWriter out;
  out.number(kClose);
  put_text(out, network);
  out.number(std::int64_t(time));
  return out.take();
}

std::optional<JournalRecord> decode_record(std::span<const std::byte> bytes,
                                           const NetworkDirectory& networks) {
  ByteReader in(bytes);
  const auto kind = in.number<std::uint8_t>();
  if (kind == kPart) return decode_part(in, networks);
  if (kind != kClose) return std::nullopt;
  auto network = get_text(in);
  const auto time = in.number<std::int64_t>();
  if (!network || !in.finished() || !networks.contains(*network)) return std::nullopt;
  return CloseRecord{std::move(*network), time};
}

std::vector<std::byte> encode_memory(const BinAssembler::Memory& memory) {
  ByteWriter out;
  out.number(kMemoryVersion);
  out.number(std::uint8_t(memory.closed_through ? 1 : 0));
  out.number(std::int64_t(memory.closed_through.value_or(0)));
  out.number(std::uint64_t(memory.closed_parts.size()));
  for (const PartKey& key : memory.closed_parts) {
    out.number(std::int64_t(key.time));
    out.number(key.source_hash);
    out.number(key.sequence);
    out.number(std::int32_t(key.metric));
  }
  return out.take();
}

std::optional<BinAssembler::Memory> decode_memory(std::span<const std::byte> bytes) {
  ByteReader in(bytes);
  if (in.number<std::uint8_t>() != kMemoryVersion) return std::nullopt;
  BinAssembler::Memory memory;
  const bool closed = in.number<std::uint8_t>() == 1;
  const auto time = in.number<std::int64_t>();
  if (closed) memory.closed_through = time;
  const auto count = in.number<std::uint64_t>();
  if (!fits(in, count, 28)) return std::nullopt;
  for (std::uint64_t k = 0; k < count; ++k) {
    PartKey key;
    key.time = in.number<std::int64_t>();
    key.source_hash = in.number<std::uint64_t>();
    key.sequence = in.number<std::uint64_t>();
    key.metric = in.number<std::int32_t>();
    memory.closed_parts.push_back(key);
  }
  if (!in.finished()) return std::nullopt;
  return memory;
}

}  // namespace outlierd::ingest
