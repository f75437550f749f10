// What a flow record costs on one core from the datagram to its cell: 500,000 prefixes, addresses
// uniform over them, datagrams as routers send them (30 records of NetFlow v5, 28 of v9), 12 to
// 1000 nodes. Prints nanoseconds a record: mapping and binning by themselves, and with decoding.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <functional>
#include <numeric>
#include <random>

#include "core/traffic/flow_binner.h"
#include "daemon/ingest/flow/flow_decoder.h"
#include "tests/support/datagrams.h"

namespace {

using namespace outlierd;

constexpr std::size_t kPrefixes = 500'000, kDatagrams = 4000, kStretch = 250,
                      kMostRecords = 30 * kDatagrams;
constexpr std::int64_t kNow = 1'700'000'090'000;
constexpr std::uint32_t kUptime = 1'000'000'000;
constexpr int kRounds = 100;

// Of this thread, so that what else runs does not count.
double cpu_nanoseconds() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return double(now.tv_sec) * 1e9 + double(now.tv_nsec);
}

IpAddress four(std::uint32_t bits) {
  IpAddress address;
  address.family = 4;
  for (std::size_t k = 0; k < 4; ++k) address.bytes[k] = std::uint8_t(bits >> (24 - 8 * k));
  return address;
}

// What differs from record to record.
struct Compact {
  IpAddress source, destination;
  std::uint32_t bytes, packets;
  std::int64_t start, end;
};

struct World {
  std::vector<PrefixValue> prefixes;
  std::vector<Compact> records = std::vector<Compact>(kMostRecords);

  explicit World(std::size_t nodes) {
    std::mt19937_64 random(7);
    for (std::size_t k = 0; k < kPrefixes; ++k) {
      // As the Internet has them: most are /24, some up to /16.
      const int length = random() % 100 < 60 ? 24 : 16 + int(random() % 8);
      prefixes.push_back(
          {four(std::uint32_t(random())), std::uint8_t(length), std::uint32_t(random() % nodes)});
    }
    const auto within = [&] {
      IpAddress address = prefixes[random() % kPrefixes].prefix;
      address.bytes[3] = std::uint8_t(random());
      return address;
    };
    for (Compact& record : records) {
      record.source = within();
      record.destination = within();
      record.bytes = std::uint32_t(40 + random() % 100'000);
      record.packets = std::uint32_t(1 + random() % 100);
      record.end = kNow - std::int64_t(random() % 20'000);
      record.start = record.end - std::int64_t(random() % 20'000);
    }
  }
};

void put(test::Datagram& out, const IpAddress& address) {
  for (std::size_t k = 0; k < 4; ++k) out.u8(address.bytes[k]);
}
std::uint32_t uptime_at(std::int64_t time) { return std::uint32_t(kUptime + (time - kNow)); }

test::Datagram netflow5(std::span<const Compact> records, std::uint32_t sequence) {
  test::Datagram made = test::Datagram().u16(5).u16(records.size()).u32(kUptime).u32(kNow / 1000);
  made.u32(0).u32(sequence * std::uint32_t(records.size())).u16(0).u16(1);
  for (const Compact& record : records) {
    put(made, record.source);
    put(made, record.destination);
    made.u32(0xc0000202).u16(3).u16(4).u32(record.packets).u32(record.bytes);
    made.u32(uptime_at(record.start)).u32(uptime_at(record.end));
    made.u16(443).u16(50000).u8(0).u8(0x1b).u8(6).u8(0).u16(64500).u16(64501).u8(24).u8(24).u16(0);
  }
  return made;
}

// The fields that Cisco's and Juniper's default templates have in common.
const auto kTemplate =
    test::template_of(256, {{8, 4},  {12, 4}, {15, 4}, {10, 4}, {14, 4}, {2, 4}, {1, 4},
                            {22, 4}, {21, 4}, {7, 2},  {11, 2}, {6, 1},  {4, 1}, {5, 1},
                            {61, 1}, {16, 4}, {17, 4}, {9, 1},  {13, 1}, {18, 4}});

test::Datagram netflow9_of(const test::Datagram& set, std::uint32_t sequence) {
  return test::Datagram()
      .u16(9)
      .u16(28)
      .u32(kUptime)
      .u32(kNow / 1000)
      .u32(sequence)
      .u32(7)
      .append(set);
}

test::Datagram netflow9(std::span<const Compact> records, std::uint32_t sequence) {
  test::Datagram made;
  for (const Compact& record : records) {
    put(made, record.source);
    put(made, record.destination);
    made.u32(0xc0000202).u32(3).u32(4).u32(record.packets).u32(record.bytes);
    made.u32(uptime_at(record.start)).u32(uptime_at(record.end)).u16(443).u16(50000);
    made.u8(0x1b).u8(6).u8(0).u8(0).u32(64500).u32(64501).u8(24).u8(24).u32(0xc0000203);
  }
  return netflow9_of(test::Datagram().set(256, made), sequence);
}

// The time a record of `work` done with each datagram, less that of `prepare`, which brings the
// datagram where a socket would have put it. Of each stretch of datagrams the least of all rounds
// counts: what else runs on the machine is seldom away for a whole round.
double least(std::size_t records, FlowBinner& binner,
             const std::function<void(std::size_t)>& prepare,
             const std::function<void(std::size_t)>& work) {
  std::vector<double> best(kDatagrams / kStretch, 1e9), fill = best;
  for (int round = 0; round < kRounds; ++round) {
    const bool add = round % 2 == 0;
    for (std::size_t first = 0; first < kDatagrams; first += kStretch) {
      const double begin = cpu_nanoseconds();
      for (std::size_t k = first; k < first + kStretch; ++k) {
        prepare(k);
        if (add) work(k);
      }
      double& time = (add ? best : fill)[first / kStretch];
      time = std::min(time, cpu_nanoseconds() - begin);
    }
    if (round == kRounds / 4) (void)binner.harvest();
  }
  return (std::accumulate(best.begin(), best.end(), 0.0) -
          std::accumulate(fill.begin(), fill.end(), 0.0)) /
         double(kDatagrams * records);
}

FlowBinnerOptions options_of(std::size_t nodes, std::size_t metrics) {
  FlowBinnerOptions options{.nodes = nodes};
  options.unknown_rate = UnknownRate::kAssume;
  options.assumed_rate = 1;
  if (metrics == 3)
    options.metrics = {FlowMetric::kBytes, FlowMetric::kPackets, FlowMetric::kFlows};
  return options;
}

double map_and_bin(const World& world, const FlowBinnerOptions& options,
                   const std::shared_ptr<const NodeMap>& map) {
  FlowBinner binner(options, map);
  std::vector<FlowRecord> datagram(28);
  const FlowHeader header{
      .exporter = four(0xc0000201), .agent = {}, .received = kNow, .export_time = kNow};
  return least(
      28, binner,
      [&](std::size_t k) {
        for (std::size_t j = 0; j < 28; ++j) {
          const Compact& one = world.records[k * 28 + j];
          datagram[j].source = one.source;
          datagram[j].destination = one.destination;
          datagram[j].bytes = one.bytes;
          datagram[j].packets = one.packets;
          datagram[j].start = one.start;
          datagram[j].end = one.end;
          datagram[j].sampling_rate = 1;
        }
        asm volatile("" : : "r"(datagram.data()) : "memory");
      },
      [&](std::size_t) { binner.add(header, datagram); });
}

double whole_way(const World& world, const FlowBinnerOptions& options,
                 const std::shared_ptr<const NodeMap>& map, std::size_t records,
                 test::Datagram (*make)(std::span<const Compact>, std::uint32_t)) {
  FlowBinner binner(options, map);
  ingest::FlowDecoder decoder;
  ingest::FlowBatch batch;
  decoder.decode(four(0xc0000201), netflow9_of(test::Datagram().set(0, kTemplate), 0).span(),
                 batch);
  std::vector<test::Datagram> sent;
  for (std::size_t k = 0; k < kDatagrams; ++k)
    sent.push_back(
        make(std::span(world.records).subspan(k * records, records), std::uint32_t(k) + 1));
  std::vector<std::byte> buffer(2048);
  return least(
      records, binner,
      [&](std::size_t k) {
        std::memcpy(buffer.data(), sent[k].span().data(), sent[k].size());
        asm volatile("" : : "r"(buffer.data()) : "memory");
      },
      [&](std::size_t k) {
        decoder.decode(four(0xc0000201), std::span(buffer).first(sent[k].size()), batch);
        binner.add({.exporter = batch.exporter,
                    .agent = batch.agent,
                    .received = kNow,
                    .export_time = batch.export_time},
                   batch.records);
      });
}

void measure(std::size_t nodes, std::size_t metrics) {
  const World world(nodes);
  NodeRules rules;
  rules.prefixes = world.prefixes;
  const auto map = std::make_shared<const NodeMap>(rules);
  const FlowBinnerOptions options = options_of(nodes, metrics);
  std::printf(
      "nodes=%zu metrics=%zu map_bytes=%zu ns_per_record map_and_bin=%.1f netflow5=%.1f "
      "netflow9=%.1f\n",
      nodes, metrics, map->bytes(), map_and_bin(world, options, map),
      whole_way(world, options, map, 30, netflow5), whole_way(world, options, map, 28, netflow9));
}

}  // namespace

// Without arguments 12, 100 and 1000 nodes with one metric and with three; else NODES METRICS.
int main(int count, char** words) {
  if (count == 3)
    return measure(std::strtoul(words[1], nullptr, 10), std::size_t(words[2][0] - '0')), 0;
  for (const std::size_t nodes : {12, 100, 1000})
    for (const std::size_t metrics : {1, 3}) measure(nodes, metrics);
}
