#include "core/traffic/bin_assembler.h"

#include <algorithm>
#include <cmath>

#include "core/byte_stream.h"

namespace outlierd {
namespace {

std::size_t bytes_of(const MatrixPart& part) {
  return sizeof(MatrixPart) + part.values.size() * sizeof(double) +
         part.pairs.size() * sizeof(std::uint32_t) + part.source.size();
}

std::optional<PartKey> key_of(const MatrixPart& part) {
  if (!part.sequence) return std::nullopt;
  return PartKey{part.time, crc64(std::as_bytes(std::span(part.source))), *part.sequence,
                 part.metric};
}

}  // namespace

BinAssembler::BinAssembler(Network network, AssemblerOptions options)
    : network_(std::move(network)), options_(std::move(options)) {}

PartVerdict BinAssembler::add(const MatrixPart& part, EpochSeconds now) {
  const std::optional<PartKey> key = key_of(part);
  if (closed_through_ && part.time <= *closed_through_)
    return key && remembers(*key) ? PartVerdict::kDuplicate : PartVerdict::kLate;

  const std::size_t bytes = bytes_of(part);
  const auto found = bins_.find(part.time);
  KeyedPart* same = nullptr;
  if (found != bins_.end() && key)
    for (KeyedPart& other : found->second.parts)
      if (other.key == *key && other.part.source == part.source) same = &other;
  const std::size_t replaced = same ? bytes_of(same->part) : 0;
  const bool first_unkeyed = !key && (found == bins_.end() || found->second.unkeyed.values.empty());
  const std::size_t slice_bytes = cell_count(network_.shape()) * (sizeof(double) + 1);
  const std::size_t more = key ? bytes : first_unkeyed ? slice_bytes : 0;
  if (open_bytes_ - replaced + more > options_.max_open_bytes) return PartVerdict::kTooMuch;

  OpenBin& bin = bins_[part.time];
  bin.last_part = std::max(bin.last_part, now);
  if (!newest_part_ || *newest_part_ < part.time) newest_part_ = part.time;
  if (part.complete) {
    bin.any_complete = true;
    bin.complete.resize(options_.sources.size());
    const auto source = std::find(options_.sources.begin(), options_.sources.end(), part.source);
    if (source != options_.sources.end())
      bin.complete[std::size_t(source - options_.sources.begin())] = true;
  }
  bin.bytes = bin.bytes - replaced + more;
  open_bytes_ = open_bytes_ - replaced + more;
  if (same) {
    same->part = part;
    return PartVerdict::kReplaced;
  }
  if (key) {
    bin.parts.push_back({*key, part});
  } else {
    if (first_unkeyed) bin.unkeyed = Slice(network_.shape());
    add_values(part, bin.unkeyed);
  }
  return PartVerdict::kAdded;
}

bool BinAssembler::is_complete(const OpenBin& bin) const {
  if (options_.sources.empty()) return bin.any_complete;
  return bin.any_complete &&
         std::find(bin.complete.begin(), bin.complete.end(), false) == bin.complete.end();
}

EpochSeconds BinAssembler::quiet_time(EpochSeconds time, const OpenBin& bin) const {
  return std::max(time + network_.bin_seconds, bin.last_part) + options_.lateness_seconds;
}

std::optional<EpochSeconds> BinAssembler::due(EpochSeconds now) const {
  for (auto bin = bins_.rbegin(); bin != bins_.rend(); ++bin) {
    const auto& [time, open] = *bin;
    if (is_complete(open) || quiet_time(time, open) <= now ||
        time + network_.bin_seconds + options_.lateness_seconds <= *newest_part_)
      return time;
  }
  return std::nullopt;
}

std::optional<EpochSeconds> BinAssembler::quiet_at() const {
  std::optional<EpochSeconds> earliest;
  for (const auto& [time, bin] : bins_)
    if (const EpochSeconds at = quiet_time(time, bin); !earliest || at < *earliest) earliest = at;
  return earliest;
}

std::vector<ClosedBin> BinAssembler::close_through(EpochSeconds time) {
  std::vector<ClosedBin> closed;
  while (!bins_.empty() && bins_.begin()->first <= time) {
    auto bin = bins_.extract(bins_.begin());
    open_bytes_ -= bin.mapped().bytes;
    for (const KeyedPart& part : bin.mapped().parts) remember(part.key);
    closed.push_back({bin.key(), sum_of(bin.mapped())});
  }
  if (!closed_through_ || *closed_through_ < time) closed_through_ = time;
  return closed;
}

void BinAssembler::add_values(const MatrixPart& part, Slice& slice) const {
  const std::size_t metrics = network_.metrics.size();
  const auto add_cell = [&](std::size_t pair, double value) {
    const std::size_t cell = pair * metrics + std::size_t(part.metric);
    slice.set(cell, (slice.observed[cell] ? slice.values[cell] : 0.0) + value);
  };
  if (!part.sparse) {
    for (std::size_t pair = 0; pair < part.values.size(); ++pair)
      if (!std::isnan(part.values[pair])) add_cell(pair, part.values[pair]);
    return;
  }
  for (std::size_t k = 0; k < part.pairs.size(); ++k)
    if (!std::isnan(part.values[k])) add_cell(part.pairs[k], part.values[k]);
  if (!part.rest_is_zero) return;
  std::vector<bool> named(network_.nodes.size() * network_.nodes.size());
  for (std::uint32_t pair : part.pairs) named[pair] = true;
  for (std::size_t pair = 0; pair < named.size(); ++pair)
    if (!named[pair]) add_cell(pair, 0.0);
}

Slice BinAssembler::sum_of(OpenBin& bin) const {
  Slice slice = bin.unkeyed.values.empty() ? Slice(network_.shape()) : std::move(bin.unkeyed);
  for (const KeyedPart& keyed : bin.parts) add_values(keyed.part, slice);
  return slice;
}

void BinAssembler::remember(const PartKey& key) {
  closed_parts_.push_back(key);
  ++closed_index_[key];
  if (closed_parts_.size() <= kRememberedParts) return;
  const auto oldest = closed_index_.find(closed_parts_.front());
  if (--oldest->second == 0) closed_index_.erase(oldest);
  closed_parts_.pop_front();
}

bool BinAssembler::remembers(const PartKey& key) const { return closed_index_.contains(key); }

BinAssembler::Memory BinAssembler::memory() const {
  return {closed_through_, {closed_parts_.begin(), closed_parts_.end()}};
}

void BinAssembler::restore(const Memory& memory) {
  closed_through_ = memory.closed_through;
  closed_parts_.clear();
  closed_index_.clear();
  for (const PartKey& key : memory.closed_parts) remember(key);
}

}  // namespace outlierd
