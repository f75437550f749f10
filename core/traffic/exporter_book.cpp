#include "core/traffic/exporter_book.h"

#include <algorithm>
#include <cmath>

namespace outlierd {
namespace {

constexpr std::int64_t kLeastSilence = 10'000;  // shorter is never called silence
constexpr double kMissingShare = 0.05;          // of a row: without so much it is not observed
constexpr double kMuchLoss = 0.2;               // beyond what is usual for the exporter
constexpr std::int64_t kClockOff = 30'000;
constexpr int kLearning = 4;  // gaps that are taken as they are
constexpr double kRateMemory = 60'000.0;

std::int64_t patience_with(const ExporterFacts& facts) {
  return std::max(kLeastSilence, 3 * facts.usual_gap);
}

void add_counts(ExporterTally& sum, const ExporterTally& more) {
  sum.datagrams += more.datagrams;
  sum.records += more.records;
  sum.lost_records += more.lost_records;
  sum.restarts += more.restarts;
  sum.bytes += more.bytes;
  sum.egress_records += more.egress_records;
  sum.unmapped_records += more.unmapped_records;
  sum.unknown_rate_records += more.unknown_rate_records;
  sum.late_records += more.late_records;
  sum.early_records += more.early_records;
  sum.unmapped_bytes += more.unmapped_bytes;
  sum.unknown_rate_bytes += more.unknown_rate_bytes;
  sum.late_bytes += more.late_bytes;
  sum.early_bytes += more.early_bytes;
  if (more.sampling_rate > 0) sum.sampling_rate = more.sampling_rate;
  sum.clock.merge(more.clock);
}

}  // namespace

const char* name_of(ExporterNews news) {
  switch (news) {
    case ExporterNews::kNew:
      return "exporter_new";
    case ExporterNews::kSilent:
      return "exporter_silent";
    case ExporterNews::kBack:
      return "exporter_back";
    case ExporterNews::kLosing:
      return "exporter_losing";
    case ExporterNews::kClockOff:
      return "exporter_clock_off";
    case ExporterNews::kForgotten:
      return "exporter_forgotten";
  }
  return "exporter";
}

void ExporterBook::add(const ExporterTally& tally, std::int64_t now,
                       std::vector<ExporterNotice>& notices) {
  const bool known = exporters_.contains(tally.exporter);
  const IpAddress address =
      known || exporters_.size() < options_.most ? tally.exporter : IpAddress{};
  ExporterFacts& facts = exporters_[address];
  if (facts.first_seen == 0) {
    facts.address = facts.total.exporter = address;
    facts.first_seen = now;
    facts.weight.resize(options_.nodes);
    facts.gathering.resize(options_.nodes);
    notices.push_back({ExporterNews::kNew, address, 0.0});
  }
  const std::int64_t heard = facts.total.received;
  if (heard > 0) {
    const double passed = double(std::max<std::int64_t>(tally.received - heard, 1));
    const double keep = std::exp(-passed / kRateMemory);
    facts.records_per_second =
        keep * facts.records_per_second + (1.0 - keep) * double(tally.records) * 1000.0 / passed;
  }
  // The gap before its first datagram of this harvest is in longest_gap too.
  const std::int64_t gap = std::max(tally.longest_gap, heard > 0 ? tally.received - heard : 0);
  if (heard > 0 && tally.longest_gap > patience_with(facts) && tally.reached >= 0) {
    facts.silence_begin = facts.total.reached;
    facts.silence_end = tally.reached;
  }
  const std::int64_t believed = facts.gaps++ < kLearning ? gap : std::min(gap, 2 * facts.usual_gap);
  facts.usual_gap = std::max(facts.usual_gap, believed);
  add_counts(facts.total, tally);
  facts.total.received = std::max(facts.total.received, tally.received);
  facts.total.reached = std::max(facts.total.reached, tally.reached);
  facts.bin_records += tally.records;
  facts.bin_lost += tally.lost_records;
  for (std::size_t node = 0; node < options_.nodes; ++node)
    facts.gathering[node] += tally.origin_bytes[node];
}

std::int64_t ExporterBook::reached(std::int64_t now, std::int64_t patience) const {
  std::int64_t least = -1;
  for (const auto& [address, facts] : exporters_) {
    if (facts.total.reached < 0 || now - facts.total.received > patience) continue;
    if (least < 0 || facts.total.reached < least) least = facts.total.reached;
  }
  return least;
}

std::vector<bool> ExporterBook::close(std::int64_t begin, std::int64_t end, std::int64_t now,
                                      std::vector<ExporterNotice>& notices) {
  std::vector<double> missing(options_.nodes), all(options_.nodes);
  for (auto at = exporters_.begin(); at != exporters_.end();) {
    ExporterFacts& facts = at->second;
    const std::int64_t overlap =
        std::min(end, facts.silence_end) - std::max(begin, facts.silence_begin);
    const bool silent = facts.total.reached + patience_with(facts) < end;
    const bool was_silent = overlap * 20 > end - begin;
    const double heard = double(facts.bin_records + facts.bin_lost);
    facts.loss = heard > 0.0 ? double(facts.bin_lost) / heard : 0.0;
    const bool losing = facts.loss > facts.usual_loss + kMuchLoss * (1.0 - facts.usual_loss);
    const auto skew = facts.total.clock.skew();
    const bool off = skew && std::abs(*skew) > kClockOff;
    if (silent && !facts.silent)
      notices.push_back(
          {ExporterNews::kSilent, at->first, double(end - facts.total.reached) / 1000.0});
    if (!silent && facts.silent) notices.push_back({ExporterNews::kBack, at->first, 0.0});
    if (losing && !facts.losing) notices.push_back({ExporterNews::kLosing, at->first, facts.loss});
    if (off && !facts.clock_off)
      notices.push_back({ExporterNews::kClockOff, at->first, double(*skew) / 1000.0});
    facts.silent = silent;
    facts.losing = losing;
    facts.clock_off = off;

    const bool lacks = silent || was_silent || losing;
    for (std::size_t node = 0; node < options_.nodes; ++node) {
      const double usual = std::max(facts.weight[node], facts.gathering[node]);
      all[node] += usual;
      if (lacks) missing[node] += usual;
      if (!lacks) facts.weight[node] = 0.8 * facts.weight[node] + 0.2 * facts.gathering[node];
      facts.gathering[node] = 0.0;
    }
    facts.usual_loss = 0.9 * facts.usual_loss + 0.1 * facts.loss;
    facts.usual_gap = std::max<std::int64_t>(1000, facts.usual_gap * 19 / 20);
    facts.bin_records = facts.bin_lost = 0;
    if (now - facts.total.received > options_.forget_after) {
      notices.push_back({ExporterNews::kForgotten, at->first, 0.0});
      at = exporters_.erase(at);
    } else {
      ++at;
    }
  }
  std::vector<bool> lacking(options_.nodes);
  for (std::size_t node = 0; node < options_.nodes; ++node)
    lacking[node] = missing[node] > kMissingShare * all[node];
  return lacking;
}

}  // namespace outlierd
