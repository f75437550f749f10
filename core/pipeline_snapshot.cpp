// Pipeline to bytes and back.
//
//   magic "OUTLPIPE" | u32 version | u64 length of body | u64 crc64 of body | body
//
// The body holds the bin width, the names of nodes and metrics, then what each part names in its
// exchange().

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "core/byte_stream.h"
#include "core/pipeline_state.h"

namespace outlierd {
namespace {

constexpr char kMagic[8] = {'O', 'U', 'T', 'L', 'P', 'I', 'P', 'E'};
constexpr std::uint32_t kSnapshotVersion = detect::StateStream::kVersion;
constexpr std::uint32_t kOldest = detect::StateStream::kOldest;
constexpr std::uint64_t kMostNames = 1u << 20;
constexpr const char* kContradiction = "the snapshot contradicts itself";

void write_names(ByteWriter& out, const std::vector<std::string>& names) {
  out.number(std::uint64_t(names.size()));
  for (const std::string& name : names) {
    out.number(std::uint64_t(name.size()));
    out.numbers(std::span<const char>(name));
  }
}

// False if they are not names, or not different ones.
bool read_names(ByteReader& in, std::vector<std::string>& names) {
  const auto count = in.number<std::uint64_t>();
  if (in.failed() || count == 0 || count > kMostNames || count * 8 > in.rest().size()) return false;
  for (std::uint64_t i = 0; i < count; ++i) {
    const auto length = in.number<std::uint64_t>();
    if (in.failed() || length > in.rest().size()) return false;
    names.emplace_back(std::size_t(length), '\0');
    in.numbers(std::span<char>(names.back()));
  }
  const std::unordered_set<std::string> distinct(names.begin(), names.end());
  return !in.failed() && distinct.size() == names.size();
}

// For each name where it was before, or -1.
std::vector<int> places(const std::vector<std::string>& names,
                        const std::vector<std::string>& before) {
  std::unordered_map<std::string, int> at;
  for (std::size_t i = 0; i < before.size(); ++i) at.emplace(before[i], int(i));
  std::vector<int> from;
  for (const std::string& name : names) {
    const auto found = at.find(name);
    from.push_back(found == at.end() ? -1 : found->second);
  }
  return from;
}

}  // namespace

void Pipeline::State::exchange(detect::StateStream& stream) {
  stream.number(last_time);
  detector.exchange(stream);
  news.exchange(stream);
  threshold.exchange(stream);
  events.exchange(stream);
}

std::vector<std::byte> Pipeline::save() const {
  ByteWriter out;
  out.number(std::int32_t(state_->network.bin_seconds));
  write_names(out, state_->network.nodes);
  write_names(out, state_->network.metrics);
  detect::StateStream stream(out);
  state_->exchange(stream);

  const std::vector<std::byte> body = out.take();
  ByteWriter whole;
  whole.reserve(body.size() + 64);
  whole.numbers(std::span<const char>(kMagic));
  whole.number(kSnapshotVersion);
  whole.number(std::uint64_t(body.size()));
  whole.number(crc64(body));
  std::vector<std::byte> bytes = whole.take();
  bytes.insert(bytes.end(), body.begin(), body.end());
  return bytes;
}

tl::expected<Pipeline, std::string> Pipeline::restore(std::span<const std::byte> bytes,
                                                      Network network, PipelineOptions options) {
  const auto because = [](std::string reason) { return tl::unexpected(std::move(reason)); };
  ByteReader in(bytes);
  char magic[sizeof kMagic];
  in.numbers(std::span<char>(magic));
  if (in.failed() || !std::equal(magic, magic + sizeof magic, kMagic))
    return because("not a snapshot of a pipeline");
  const auto version = in.number<std::uint32_t>();
  if (!in.failed() && (version < kOldest || version > kSnapshotVersion))
    return because("the snapshot is of version " + std::to_string(version) +
                   ", this program reads " + std::to_string(kOldest) + " to " +
                   std::to_string(kSnapshotVersion));
  const auto length = in.number<std::uint64_t>();
  const auto checksum = in.number<std::uint64_t>();
  if (in.failed() || in.rest().size() != length)
    return because("the snapshot is cut short or too long");
  if (crc64(in.rest()) != checksum)
    return because("the snapshot is damaged: its checksum is wrong");

  if (const int bin = in.number<std::int32_t>(); bin != network.bin_seconds)
    return because("the snapshot has bins of " + std::to_string(bin) + " s, not " +
                   std::to_string(network.bin_seconds));
  std::vector<std::string> nodes, metrics;
  if (!read_names(in, nodes) || !read_names(in, metrics)) return because(kContradiction);
  // Every cell is several numbers of the body; more cells than bytes cannot be.
  if (double(nodes.size()) * double(nodes.size()) * double(metrics.size()) > double(length))
    return because(kContradiction);
  const detect::Rearrangement map{.old_nodes = int(nodes.size()),
                                  .old_metrics = int(metrics.size()),
                                  .node_from = places(network.nodes, nodes),
                                  .metric_from = places(network.metrics, metrics),
                                  .same = network.nodes == nodes && network.metrics == metrics};
  auto state = std::make_unique<State>(std::move(network), options);
  detect::StateStream stream(in, map, version);
  state->exchange(stream);
  if (stream.failed() || !in.finished()) return because(kContradiction);
  return Pipeline(std::move(state));
}

}  // namespace outlierd
