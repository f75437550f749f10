// What mapping and binning one flow record costs, on one core: 500,000 prefixes, addresses uniform
// over them, datagrams of 28 records, 12 and 1000 nodes. Prints nanoseconds a record.

#include <cstdio>
#include <ctime>
#include <random>

#include "core/traffic/flow_binner.h"

namespace {

using namespace outlierd;

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

struct Compact {
  IpAddress source, destination;
  std::uint64_t bytes, packets;
  std::int64_t start, end;
};

void measure(std::size_t nodes, std::size_t metrics) {
  constexpr std::size_t kPrefixes = 500'000, kRecords = 28 * 4000;
  constexpr std::int64_t kNow = 1'700'000'100'000;
  std::mt19937_64 random(7);
  std::vector<PrefixValue> prefixes;
  for (std::size_t k = 0; k < kPrefixes; ++k) {
    // As the Internet has them: most are /24, some up to /16.
    const int length = random() % 100 < 60 ? 24 : 16 + int(random() % 8);
    prefixes.push_back(
        {four(std::uint32_t(random())), std::uint8_t(length), std::uint32_t(random() % nodes)});
  }
  std::vector<Compact> records(kRecords);
  const auto within = [&] {
    const PrefixValue& one = prefixes[random() % kPrefixes];
    IpAddress address = one.prefix;
    address.bytes[3] = std::uint8_t(random());
    return address;
  };
  for (Compact& record : records) {
    record.source = within();
    record.destination = within();
    record.bytes = 40 + random() % 100'000;
    record.packets = 1 + random() % 100;
    record.end = kNow - std::int64_t(random() % 20'000);
    record.start = record.end - std::int64_t(random() % 20'000);
  }
  NodeRules rules;
  rules.prefixes = prefixes;
  const auto map = std::make_shared<const NodeMap>(rules);
  FlowBinnerOptions options{.nodes = nodes};
  if (metrics == 3)
    options.metrics = {FlowMetric::kBytes, FlowMetric::kPackets, FlowMetric::kFlows};
  FlowBinner binner(options, map);
  // As from a decoder, the records of a datagram lie in a small buffer that is used again; what
  // filling it costs is measured by itself and taken off.
  std::vector<FlowRecord> datagram(28);
  const FlowHeader header{
      .exporter = four(0xc0000201), .agent = {}, .received = kNow, .export_time = kNow};
  double best = 1e9, fill = 1e9;
  for (int round = 0; round < 16; ++round) {
    const bool add = round % 2 == 0;
    const double begin = cpu_nanoseconds();
    for (std::size_t k = 0; k < kRecords; k += 28) {
      for (std::size_t j = 0; j < 28; ++j) {
        datagram[j].source = records[k + j].source;
        datagram[j].destination = records[k + j].destination;
        datagram[j].bytes = records[k + j].bytes;
        datagram[j].packets = records[k + j].packets;
        datagram[j].start = records[k + j].start;
        datagram[j].end = records[k + j].end;
        datagram[j].sampling_rate = 1;
      }
      asm volatile("" : : "r"(datagram.data()) : "memory");
      if (add) binner.add(header, datagram);
    }
    double& least = add ? best : fill;
    least = std::min(least, (cpu_nanoseconds() - begin) / double(kRecords));
    if (round == 6) (void)binner.harvest();
  }
  best -= fill;
  std::printf("nodes=%zu metrics=%zu map_bytes=%zu map_and_bin_ns_per_record=%.1f\n", nodes,
              metrics, map->bytes(), best);
}

}  // namespace

int main() {
  for (const std::size_t nodes : {12, 100, 1000})
    for (const std::size_t metrics : {1, 3}) measure(nodes, metrics);
}
