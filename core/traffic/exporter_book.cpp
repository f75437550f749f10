#include "core/traffic/exporter_book.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace outlierd {
namespace {

constexpr std::int64_t kLeastSilence = 10'000;  // shorter is never called silence
constexpr double kMissingShare = 0.05;          // of a row: without so much it is not observed
constexpr double kMuch = 0.2;                   // lost or unmapped, beyond what is usual for it
constexpr double kLess = 0.8;  // of what is usual: so little mapped is left when a map is wrong
constexpr double kToldUnmapped = 0.1, kToldMapped = 0.05;
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
  sum.found_records += more.found_records;
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
    case ExporterNews::kComplete:
      return "exporter_complete";
    case ExporterNews::kClockOff:
      return "exporter_clock_off";
    case ExporterNews::kClockRight:
      return "exporter_clock_right";
    case ExporterNews::kUnmapped:
      return "exporter_unmapped";
    case ExporterNews::kMapped:
      return "exporter_mapped";
    case ExporterNews::kUnknownRate:
      return "exporter_sampling_unknown";
    case ExporterNews::kKnownRate:
      return "exporter_sampling_known";
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
    facts.left_out.resize(options_.nodes);
    facts.left_out_before.resize(options_.nodes);
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
  facts.bin_found += tally.found_records;
  facts.bin_unknown += tally.unknown_rate_records;
  facts.bin_bytes += tally.bytes;
  facts.bin_unmapped += tally.unmapped_bytes;
  for (std::size_t node = 0; node < options_.nodes; ++node)
    facts.gathering[node] += tally.origin_bytes[node];
  for (std::size_t node = 0; node < tally.origin_left_out.size(); ++node)
    if (tally.origin_left_out[node] > 0.0) facts.left_out[node] = true;
}

bool ExporterBook::quiet(const ExporterFacts& facts, std::int64_t now) const {
  return now - facts.total.received > std::max(options_.lateness, patience_with(facts));
}

void ExporterBook::watch(std::int64_t now, std::vector<ExporterNotice>& notices) {
  for (auto& [address, facts] : exporters_) {
    if (facts.silent || !quiet(facts, now)) continue;
    facts.silent = true;
    notices.push_back(
        {ExporterNews::kSilent, address, double(now - facts.total.received) / 1000.0});
  }
}

std::int64_t ExporterBook::reached(std::int64_t now, std::int64_t patience) const {
  std::int64_t least = -1;
  for (const auto& [address, facts] : exporters_) {
    if (facts.total.reached < 0 || now - facts.total.received > patience) continue;
    if (least < 0 || facts.total.reached < least) least = facts.total.reached;
  }
  return least;
}

bool ExporterBook::judge(ExporterFacts& facts, std::int64_t begin, std::int64_t end,
                         std::int64_t now, std::vector<ExporterNotice>& notices) const {
  const auto tell = [&](bool& before, bool is, ExporterNews begun, ExporterNews over,
                        double figure) {
    if (is != before)
      notices.push_back({is ? begun : over, facts.total.exporter, is ? figure : 0.0});
    before = is;
  };
  const auto share = [](double part, double rest) {
    return part > 0.0 ? part / (part + rest) : 0.0;
  };
  const auto much = [](double is, double usual) { return is > usual + kMuch * (1.0 - usual); };

  const bool silent = facts.total.reached + patience_with(facts) < end;
  const std::int64_t overlap =
      std::min(end, facts.silence_end) - std::max(begin, facts.silence_begin);
  const bool was_silent = overlap * 20 > end - begin;
  tell(facts.silent, silent || quiet(facts, now), ExporterNews::kSilent, ExporterNews::kBack,
       double(end - facts.total.reached) / 1000.0);

  const std::uint64_t lost = facts.bin_lost - std::min(facts.bin_lost, facts.bin_found);
  facts.loss = share(double(lost), double(facts.bin_records));
  const bool losing = much(facts.loss, facts.usual_loss);
  tell(facts.losing, losing, ExporterNews::kLosing, ExporterNews::kComplete, facts.loss);

  const auto skew = facts.total.clock.skew();
  tell(facts.clock_off, skew && std::abs(*skew) > kClockOff, ExporterNews::kClockOff,
       ExporterNews::kClockRight, double(skew.value_or(0)) / 1000.0);

  // Unmapped traffic may be new. Only where as much is missing from the rows was it theirs.
  facts.unmapped = share(facts.bin_unmapped, facts.bin_bytes);
  const double usual = std::accumulate(facts.weight.begin(), facts.weight.end(), 0.0);
  const bool astray = much(facts.unmapped, facts.usual_unmapped) && facts.bin_bytes < kLess * usual;
  if (facts.bin_records > 0)
    tell(facts.is_unmapped,
         facts.unmapped > (facts.is_unmapped ? kToldMapped : kToldUnmapped) || astray,
         ExporterNews::kUnmapped, ExporterNews::kMapped, facts.unmapped);

  facts.unknown_rate =
      share(double(facts.bin_unknown), double(facts.bin_records - facts.bin_unknown));
  if (facts.bin_records > 0)
    tell(facts.is_unknown, facts.unknown_rate > 0.0, ExporterNews::kUnknownRate,
         ExporterNews::kKnownRate, facts.unknown_rate);

  facts.usual_loss = 0.9 * facts.usual_loss + 0.1 * facts.loss;
  facts.usual_unmapped = 0.9 * facts.usual_unmapped + 0.1 * facts.unmapped;
  return silent || was_silent || losing || astray;
}

std::vector<bool> ExporterBook::close(std::int64_t begin, std::int64_t end, std::int64_t now,
                                      std::vector<ExporterNotice>& notices) {
  std::vector<double> missing(options_.nodes), all(options_.nodes);
  std::vector<bool> lacking(options_.nodes);
  for (auto at = exporters_.begin(); at != exporters_.end();) {
    ExporterFacts& facts = at->second;
    const bool lacks = judge(facts, begin, end, now, notices);
    for (std::size_t node = 0; node < options_.nodes; ++node) {
      const double usual = std::max(facts.weight[node], facts.gathering[node]);
      all[node] += usual;
      if (lacks) missing[node] += usual;
      if (!lacks) facts.weight[node] = 0.8 * facts.weight[node] + 0.2 * facts.gathering[node];
      // How much a record of unknown rate stands for nobody knows: a few are enough.
      const bool left_out = facts.left_out[node] && facts.unknown_rate > kMissingShare;
      if (left_out || facts.left_out_before[node]) lacking[node] = true;
      facts.left_out_before[node] = left_out;
      facts.left_out[node] = false;
      facts.gathering[node] = 0.0;
    }
    facts.usual_gap = std::max<std::int64_t>(1000, facts.usual_gap * 19 / 20);
    facts.bin_records = facts.bin_lost = facts.bin_found = facts.bin_unknown = 0;
    facts.bin_bytes = facts.bin_unmapped = 0.0;
    if (now - facts.total.received > options_.forget_after) {
      notices.push_back({ExporterNews::kForgotten, at->first, 0.0});
      at = exporters_.erase(at);
    } else {
      ++at;
    }
  }
  for (std::size_t node = 0; node < options_.nodes; ++node)
    if (missing[node] > kMissingShare * all[node]) lacking[node] = true;
  return lacking;
}

}  // namespace outlierd
