// How fast flow export becomes flow records on one thread, in datagrams as routers send them (30
// records of v5, 28 of v9): nanoseconds a record.

#include <benchmark/benchmark.h>

#include <random>

#include "daemon/ingest/flow/flow_decoder.h"
#include "tests/support/datagrams.h"

namespace outlierd::ingest {
namespace {

using namespace outlierd::test;

constexpr int kDatagrams = 256;  // more than the first-level cache holds, as on a socket

void run(benchmark::State& state, const std::vector<Datagram>& first,
         const std::vector<Datagram>& data) {
  FlowDecoder decoder;
  FlowBatch batch;
  const IpAddress router = v4(192, 0, 2, 1);
  for (const Datagram& each : first) decoder.decode(router, each.span(), batch);
  std::int64_t records = 0;
  std::size_t next = 0;
  for (auto _ : state) {
    decoder.decode(router, data[next].span(), batch);
    benchmark::DoNotOptimize(batch.records.data());
    records += std::int64_t(batch.records.size());
    next = next + 1 == data.size() ? 0 : next + 1;
  }
  state.SetItemsProcessed(records);
  state.counters["ns_per_record"] = benchmark::Counter(
      double(records) / 1e9, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}

void netflow5(benchmark::State& state) {
  std::mt19937_64 random(7);
  std::vector<Datagram> data;
  for (std::uint32_t k = 0; k < kDatagrams; ++k) {
    Datagram made =
        Datagram().u16(5).u16(30).u32(kUptime).u32(kUnixSeconds).u32(0).u32(k * 30).u32(100);
    for (int record = 0; record < 30; ++record) {
      for (int word = 0; word < 6; ++word) made.u64(random());
    }
    data.push_back(made);
  }
  run(state, {}, data);
}

// The fields that Cisco's and Juniper's default templates have in common.
void netflow9(benchmark::State& state) {
  const std::initializer_list<Field> fields = {
      {8, 4},  {12, 4}, {15, 4}, {10, 4}, {14, 4}, {2, 4},  {1, 4},  {22, 4}, {21, 4}, {7, 2},
      {11, 2}, {6, 1},  {4, 1},  {5, 1},  {61, 1}, {16, 4}, {17, 4}, {9, 1},  {13, 1}, {18, 4}};
  std::size_t length = 0;
  for (const Field& each : fields) length += each.length;
  std::mt19937_64 random(7);
  std::vector<Datagram> data;
  for (std::uint32_t k = 0; k < kDatagrams; ++k) {
    Datagram records;
    for (std::size_t byte = 0; byte < length * 28; ++byte) records.u8(random() & 0xff);
    data.push_back(test::netflow9(k + 1, Datagram().set(256, records)));
  }
  run(state, {test::netflow9(0, Datagram().set(0, template_of(256, fields)))}, data);
}

BENCHMARK(netflow5);
BENCHMARK(netflow9);

}  // namespace
}  // namespace outlierd::ingest
