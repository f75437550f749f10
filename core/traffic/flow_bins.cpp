#include "core/traffic/flow_bins.h"

#include <algorithm>

#include "core/byte_stream.h"

namespace outlierd {
namespace {

constexpr std::uint32_t kVersion = 1;
constexpr int kShortPause =
    50;  // of a bin: a restart that took less than 1/50 loses nothing of note

}  // namespace

FlowBins::FlowBins(FlowBinsOptions options, std::shared_ptr<const NodeMap> map)
    : options_(std::move(options)),
      map_(std::move(map)),
      book_({.nodes = options_.network.nodes.size(),
             .lateness = std::int64_t{1000} * options_.lateness_seconds}) {}

void FlowBins::close_through(EpochSeconds time) {
  if (!closed_through_ || *closed_through_ < time) closed_through_ = time;
}

void FlowBins::add(FlowHarvest&& harvest, std::int64_t now) {
  for (const ExporterTally& tally : harvest.exporters) book_.add(tally, now, notices_);
  for (BinTotals& totals : harvest.bins) {
    if (closed_through_ && totals.time <= *closed_through_) {
      counts_.late_records += totals.records;
      continue;
    }
    OpenBin& bin = open_[totals.time];
    if (bin.first == 0) bin.first = now;
    bin.last = now;
    if (bin.cells.empty()) {
      bin.cells = std::move(totals.cells);
    } else {
      for (std::size_t c = 0; c < bin.cells.size(); ++c) bin.cells[c] += totals.cells[c];
    }
  }
  for (Talker& talker : harvest.talkers) {
    const auto bin = open_.find(talker.bin);
    if (bin == open_.end()) continue;
    bin->second.talkers.push_back(talker);
    if (bin->second.talkers.size() >= 2 * options_.most_talkers)
      thin(bin->second.talkers, options_.most_talkers);
  }
}

bool FlowBins::is_over(EpochSeconds time, const OpenBin& bin, std::int64_t reached,
                       std::int64_t now) const {
  const std::int64_t end = end_of(time), lateness = std::int64_t{1000} * options_.lateness_seconds;
  const bool filled_while_it_ran = bin.first < end + lateness;
  return reached >= end + lateness || now >= std::max(end, bin.last) + lateness ||
         (filled_while_it_ran && now >= end + 2 * lateness);
}

std::vector<FinishedBin> FlowBins::due(std::int64_t now) {
  book_.watch(now, notices_);
  if (open_.empty()) return {};
  const std::int64_t reached =
      book_.reached(now, std::int64_t{1000} * std::max(options_.lateness_seconds, 1));
  const std::size_t bytes_each = open_.begin()->second.cells.size() * sizeof(double) + 1;
  const std::size_t most = std::max<std::size_t>(options_.most_open_bytes / bytes_each, 2);
  std::size_t behind = open_.size();
  for (auto bin = open_.rbegin(); bin != open_.rend(); ++bin, --behind) {
    const bool too_many = open_.size() - behind + 1 > most;
    if (too_many || is_over(bin->first, bin->second, reached, now))
      return finish_through(bin->first, now);
  }
  return {};
}

std::vector<FinishedBin> FlowBins::flush(std::int64_t now) {
  for (auto bin = open_.rbegin(); bin != open_.rend(); ++bin)
    if (end_of(bin->first) <= now) return finish_through(bin->first, now);
  return {};
}

std::vector<FinishedBin> FlowBins::finish_through(EpochSeconds time, std::int64_t now) {
  std::vector<FinishedBin> finished;
  while (!open_.empty() && open_.begin()->first <= time) {
    auto bin = open_.extract(open_.begin());
    finished.push_back(finish(bin.key(), std::move(bin.mapped()), now));
  }
  close_through(time);
  return finished;
}

FinishedBin FlowBins::finish(EpochSeconds time, OpenBin&& bin, std::int64_t now) {
  const std::size_t nodes = options_.network.nodes.size();
  const std::size_t metrics = options_.network.metrics.size();
  std::vector<bool> hidden = book_.close(time * 1000, end_of(time), now, notices_);
  const bool begun_midway = time * 1000 < options_.listening_since &&
                            options_.listening_since < end_of(time) && !bin.whole;
  if (begun_midway) hidden.assign(nodes, true);
  // A node whose exporters have never spoken, and of which nobody else speaks.
  std::vector<bool> named(nodes), heard(nodes);
  for (const auto& [address, rule] : map_->exporters())
    for (std::uint32_t node : map_->nodes_of(address)) {
      named[node] = true;
      heard[node] = heard[node] || book_.exporters().contains(address);
    }
  for (std::size_t node = 0; node < nodes; ++node) {
    const auto row = bin.cells.begin() + std::ptrdiff_t(node * nodes * metrics);
    const bool nothing =
        std::all_of(row, row + std::ptrdiff_t(nodes * metrics), [](double v) { return v == 0.0; });
    if (named[node] && !heard[node] && nothing) hidden[node] = true;
  }
  FinishedBin out;
  out.time = time;
  out.hidden_rows = std::size_t(std::count(hidden.begin(), hidden.end(), true));
  for (std::size_t metric = 0; metric < metrics; ++metric) {
    MatrixPart part;
    part.time = time;
    part.metric = int(metric);
    part.source = kSource;
    part.sequence = 0;
    part.complete = metric + 1 == metrics;
    part.values.resize(nodes * nodes);
    for (std::size_t pair = 0; pair < part.values.size(); ++pair)
      part.values[pair] =
          hidden[pair / nodes] ? MatrixPart::kNotObserved : bin.cells[pair * metrics + metric];
    out.parts.push_back(std::move(part));
  }
  thin(bin.talkers, options_.most_talkers);
  out.talkers = std::move(bin.talkers);
  counts_.rows_hidden += out.hidden_rows;
  ++counts_.bins;
  return out;
}

std::vector<std::byte> FlowBins::save(std::int64_t now) const {
  ByteWriter body;
  body.number(kVersion);
  body.number(now);
  body.number(std::uint64_t(open_.size()));
  for (const auto& [time, bin] : open_) {
    body.number(time);
    body.number(std::uint8_t(time * 1000 >= options_.listening_since || bin.whole));
    body.number(std::uint64_t(bin.cells.size()));
    body.numbers(std::span<const double>(bin.cells));
  }
  std::vector<std::byte> bytes = body.take();
  ByteWriter sum;
  sum.number(crc64(bytes));
  for (std::byte one : sum.take()) bytes.push_back(one);
  return bytes;
}

bool FlowBins::restore(std::span<const std::byte> bytes, std::int64_t now) {
  if (bytes.size() < 8) return false;
  ByteReader sum(bytes.last(8));
  if (sum.number<std::uint64_t>() != crc64(bytes.first(bytes.size() - 8))) return false;
  ByteReader body(bytes.first(bytes.size() - 8));
  if (body.number<std::uint32_t>() != kVersion) return false;
  const auto saved = body.number<std::int64_t>();
  const std::int64_t width = std::int64_t{1000} * options_.network.bin_seconds;
  if (saved > now || now - saved > width / kShortPause) return false;
  const std::size_t cells = cell_count(options_.network.shape());
  const auto count = body.number<std::uint64_t>();
  for (std::uint64_t k = 0; k < count && !body.failed(); ++k) {
    const auto time = body.number<EpochSeconds>();
    const bool whole = body.number<std::uint8_t>() != 0;
    if (body.number<std::uint64_t>() != cells || body.failed()) return false;
    AlignedDoubles values(cells);
    body.numbers(std::span(values));
    if (body.failed()) return false;
    if (closed_through_ && time <= *closed_through_) continue;
    OpenBin& bin = open_[time];
    bin.cells = std::move(values);
    bin.first = bin.last = now;
    bin.whole = whole;
  }
  return !body.failed();
}

}  // namespace outlierd
