#include "core/traffic/flow_binner.h"

#include <algorithm>
#include <cstring>

namespace outlierd {
namespace {

constexpr std::size_t kMostRemembered = 16384;
constexpr std::size_t kNowhere = std::size_t(-1);

// The begin of the bin, also before the epoch.
std::int64_t floor_to(std::int64_t value, std::int64_t width) {
  const std::int64_t rest = value % width;
  return value - (rest < 0 ? rest + width : rest);
}

}  // namespace

std::size_t FlowBinner::AddressHash::operator()(const IpAddress& address) const {
  std::uint64_t high, low;
  std::memcpy(&high, address.bytes.data(), 8);
  std::memcpy(&low, address.bytes.data() + 8, 8);
  std::uint64_t mixed = (high ^ (low << 1 | low >> 63) ^ address.family) * 0x9e3779b97f4a7c15;
  mixed ^= mixed >> 32;
  return std::size_t(mixed * 0xbf58476d1ce4e5b9 >> 8);
}

FlowBinner::FlowBinner(FlowBinnerOptions options, std::shared_ptr<const NodeMap> map)
    : options_(std::move(options)),
      bin_milliseconds_(std::int64_t{1000} * options_.bin_seconds),
      map_(std::move(map)) {}

void FlowBinner::use_map(std::shared_ptr<const NodeMap> map) {
  map_ = std::move(map);
  for (const auto& one : exporters_) find_rule(*one);
}

void FlowBinner::find_rule(Exporter& exporter) const {
  exporter.rule = map_->rule_of(exporter.agent);
  if (!exporter.rule) exporter.rule = map_->rule_of(exporter.address);
}

FlowBinner::Exporter& FlowBinner::begin_exporter(const FlowHeader& header) {
  const bool room = exporters_.size() < options_.most_exporters;
  const IpAddress address = room ? header.exporter : IpAddress{};
  if (!room)
    if (const auto found = by_address_.find(address); found != by_address_.end())
      return *found->second;
  exporters_.push_back(std::make_unique<Exporter>());
  Exporter& made = *exporters_.back();
  made.tally.exporter = address;
  made.tally.origin_bytes.resize(options_.nodes);
  if (const auto known = remembered_.find(address); known != remembered_.end()) {
    made.tally.sampling_rate = known->second.rate;
    made.tally.received = known->second.received;
  }
  by_address_.emplace(address, &made);
  return made;
}

FlowBinner::Exporter& FlowBinner::exporter_of(const FlowHeader& header) {
  if (last_ && last_->tally.exporter == header.exporter) return *last_;
  const auto found = by_address_.find(header.exporter);
  last_ = found != by_address_.end() ? found->second : &begin_exporter(header);
  return *last_;
}

void FlowBinner::add(const FlowHeader& header, std::span<const FlowRecord> records) {
  Exporter& exporter = exporter_of(header);
  ExporterTally& tally = exporter.tally;
  // One address may speak for several agents (a relay), or several addresses be one (no room).
  if (exporter.address != header.exporter || exporter.agent != header.agent) {
    exporter.address = header.exporter;
    exporter.agent = header.agent;
    find_rule(exporter);
  }
  ++tally.datagrams;
  tally.lost_records += header.lost_records;
  tally.found_records += header.found_records;
  tally.restarts += header.restarted;
  if (tally.received > 0)
    tally.longest_gap = std::max(tally.longest_gap, header.received - tally.received);
  tally.received = std::max(tally.received, header.received);
  if (header.export_time >= 0) {
    tally.clock.saw(header.export_time, header.received);
    if (header.export_time <= header.received + options_.early_milliseconds)
      tally.reached = std::max(tally.reached, header.export_time);
  } else {
    std::int64_t reached = -1;
    for (const FlowRecord& record : records) reached = std::max(reached, record.end);
    // A collector that speaks of now has come to now, whatever stamp it puts on its rows.
    if (reached < 0 || header.received - reached < 2 * bin_milliseconds_) reached = header.received;
    if (reached <= header.received + options_.early_milliseconds)
      tally.reached = std::max(tally.reached, reached);
  }
  while (!records.empty()) {
    const std::size_t count = std::min(records.size(), NodeMap::kBatch);
    add_batch(header, exporter, records.first(count));
    records = records.subspan(count);
  }
}

// The factor to correct by; 0: unknown, and the policy is to leave such records out.
std::uint32_t FlowBinner::rate_of(const FlowRecord& record, const ExporterTally& tally) const {
  if (record.sampling_rate > 0) return record.sampling_rate;
  switch (options_.unknown_rate) {
    case UnknownRate::kAssume:
      return options_.assumed_rate;
    case UnknownRate::kLastKnown:
      return tally.sampling_rate;
    case UnknownRate::kReject:
      break;
  }
  return 0;
}

// Three passes, so that the waits for memory of one pass overlap: nodes; which bin and cell; sums.
void FlowBinner::add_batch(const FlowHeader& header, Exporter& exporter,
                           std::span<const FlowRecord> records) {
  ExporterTally& tally = exporter.tally;
  tally.records += records.size();
  std::uint32_t origins[NodeMap::kBatch], destinations[NodeMap::kBatch];
  map_->map(records, exporter.rule, origins, destinations);

  std::size_t cells[NodeMap::kBatch];
  double rates[NodeMap::kBatch];
  BinTotals* bins[NodeMap::kBatch];  // null: to be spread
  const std::int64_t stamped = header.export_time >= 0 ? header.export_time : header.received;
  const std::int64_t latest = header.received + options_.early_milliseconds;
  const std::size_t metrics = options_.metrics.size();
  double binned = 0.0;
  for (std::size_t k = 0; k < records.size(); ++k) {
    const FlowRecord& record = records[k];
    cells[k] = kNowhere;
    if (record.direction == FlowDirection::kEgress && !header.count_egress) {
      ++tally.egress_records;
      continue;
    }
    const std::uint32_t known_rate = rate_of(record, tally);
    if (record.sampling_rate > 0) tally.sampling_rate = record.sampling_rate;
    if (known_rate == 0) {
      ++tally.unknown_rate_records;
      tally.unknown_rate_bytes += double(record.bytes);
      if (tally.origin_left_out.empty()) tally.origin_left_out.resize(options_.nodes);
      if (origins[k] != NodeMap::kUnmapped) ++tally.origin_left_out[origins[k]];
      continue;
    }
    const double rate = rates[k] = known_rate, bytes = double(record.bytes) * rate;
    if (origins[k] == NodeMap::kUnmapped || destinations[k] == NodeMap::kUnmapped) {
      ++tally.unmapped_records;
      tally.unmapped_bytes += bytes;
      continue;
    }
    std::int64_t end = record.end >= 0 ? record.end : record.start >= 0 ? record.start : stamped;
    std::int64_t start = record.start >= 0 && record.start <= end ? record.start : end;
    if (end > latest) {
      ++tally.early_records;
      tally.early_bytes += bytes;
      continue;
    }
    const std::size_t pair = std::size_t(origins[k]) * options_.nodes + destinations[k];
    if (!current_ || end >= current_end_ || end < current_begin_) {
      current_ = bin_at(end);
      if (!current_) {
        ++tally.late_records;
        tally.late_bytes += bytes;
        continue;
      }
    }
    binned += bytes;
    tally.origin_bytes[origins[k]] += bytes;
    sampler_.add(bytes, record, std::uint32_t(pair), current_->time);
    if (start < current_begin_) {
      spread(record, start, end, pair * metrics, rate, tally);
      continue;
    }
    cells[k] = pair * metrics;
    bins[k] = current_;
    __builtin_prefetch(&current_->cells[cells[k]], 1);
    __builtin_prefetch(&current_->cells[cells[k]] + metrics - 1, 1);
  }
  tally.bytes += binned;
  for (std::size_t k = 0; k < records.size(); ++k) {
    if (cells[k] == kNowhere) continue;
    ++bins[k]->records;
    put(*bins[k], cells[k], records[k], rates[k], 1.0);
  }
}

void FlowBinner::put(BinTotals& bin, std::size_t cell, const FlowRecord& record, double weight,
                     double flows) const {
  for (std::size_t m = 0; m < options_.metrics.size(); ++m) {
    double& sum = bin.cells[cell + m];
    switch (options_.metrics[m]) {
      case FlowMetric::kBytes:
        sum += double(record.bytes) * weight;
        break;
      case FlowMetric::kPackets:
        sum += double(record.packets) * weight;
        break;
      case FlowMetric::kFlows:  // as the exporter counted them
        sum += double(record.flows) * flows;
        break;
    }
  }
}

// Null when that bin is closed or too far back.
BinTotals* FlowBinner::bin_at(std::int64_t milliseconds) {
  if (milliseconds < closed_end_) return nullptr;
  const std::int64_t begin = floor_to(milliseconds, bin_milliseconds_);
  const auto found = std::find_if(bins_.begin(), bins_.end(),
                                  [&](const auto& bin) { return bin->time * 1000 == begin; });
  BinTotals* bin = found == bins_.end() ? nullptr : found->get();
  if (!bin) {
    if (begin > newest_) {
      newest_ = begin;
      turned_ = true;
    } else if (begin <= newest_ - std::int64_t(options_.most_bins) * bin_milliseconds_) {
      return nullptr;
    }
    if (bins_.size() >= 2 * options_.most_bins) return nullptr;  // one datagram, many clocks
    bins_.push_back(std::make_unique<BinTotals>());
    bin = bins_.back().get();
    bin->time = begin / 1000;
    bin->cells.resize(options_.nodes * options_.nodes * options_.metrics.size());
  }
  current_begin_ = begin;
  current_end_ = begin + bin_milliseconds_;
  return current_ = bin;
}

// current_ is the bin of its end. What falls into bins that are closed is late.
void FlowBinner::spread(const FlowRecord& record, std::int64_t start, std::int64_t end,
                        std::size_t cell, double rate, ExporterTally& tally) {
  const double lasted = double(end - start);
  double left = 1.0;
  std::int64_t upto = end;
  for (bool first = true;; first = false) {
    BinTotals* bin = bin_at(first ? end : upto - 1);
    if (!bin) {
      ++tally.late_records;
      tally.late_bytes += double(record.bytes) * rate * left;
      tally.bytes -= double(record.bytes) * rate * left;
      break;
    }
    const std::int64_t from = std::max(start, current_begin_);
    const bool last = from == start;
    const double share = last ? left : std::min(left, double(upto - from) / lasted);
    ++bin->records;
    put(*bin, cell, record, rate * share, share);
    left -= share;
    if (last) break;
    upto = from;
  }
}

FlowHarvest FlowBinner::harvest() {
  FlowHarvest out;
  for (auto& bin : bins_) out.bins.push_back(std::move(*bin));
  bins_.clear();
  current_ = nullptr;
  turned_ = false;
  if (remembered_.size() + exporters_.size() > kMostRemembered) remembered_.clear();
  for (auto& one : exporters_) {
    remembered_[one->tally.exporter] = {one->tally.sampling_rate, one->tally.received};
    out.exporters.push_back(std::move(one->tally));
  }
  exporters_.clear();
  by_address_.clear();
  last_ = nullptr;
  out.talkers = sampler_.take();
  return out;
}

}  // namespace outlierd
