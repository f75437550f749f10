// How fast messages of 12 and 1000 nodes become matrix parts: bytes a second on one thread.

#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>

#include "daemon/ingest/decode_matrix.h"

namespace outlierd::ingest {
namespace {

NetworkDirectory directory(int nodes) {
  Network network{.name = "bench", .nodes = {}};
  for (int k = 0; k < nodes; ++k) network.nodes.push_back("N" + std::to_string(k));
  NetworkDirectory networks;
  networks.emplace("bench", KnownNetwork(network));
  return networks;
}

std::string json_message(int nodes) {
  std::mt19937_64 random(7);
  std::string text = R"({"network":"bench","time":"2020-01-01T00:00:00Z","values":[)";
  for (int i = 0; i < nodes; ++i) {
    text += i ? ",[" : "[";
    for (int j = 0; j < nodes; ++j) {
      if (j) text += ',';
      text += std::to_string(double(random() % 1'000'000'000) / 1000.0);
    }
    text += ']';
  }
  return text + "]}";
}

std::string cbor_message(int nodes) {
  const auto text = [](const std::string& value) { return char(0x60 | value.size()) + value; };
  std::string bytes = "\xa3" + text("network") + text("bench") + text("time") +
                      text("2020-01-01T00:00:00Z") + text("values");
  std::vector<float> values(std::size_t(nodes) * std::size_t(nodes), 1.5f);
  const std::size_t size = values.size() * sizeof(float);
  bytes += "\xd8\x55\x5a";  // tag 85, a byte string with four bytes of length
  for (int shift = 24; shift >= 0; shift -= 8) bytes += char(size >> shift & 0xff);
  const std::size_t at = bytes.size();
  bytes.resize(at + size);
  std::memcpy(bytes.data() + at, values.data(), size);
  return bytes;
}

void decode_json(benchmark::State& state) {
  const NetworkDirectory networks = directory(int(state.range(0)));
  MatrixDecoder decoder(networks);
  std::string text = json_message(int(state.range(0)));
  const std::size_t size = text.size();
  text.resize(size + MatrixDecoder::kPadding);
  for (auto _ : state)
    if (!decoder.json({text.data(), size})) state.SkipWithError("refused");
  state.SetBytesProcessed(state.iterations() * std::int64_t(size));
}

void decode_cbor(benchmark::State& state) {
  const NetworkDirectory networks = directory(int(state.range(0)));
  MatrixDecoder decoder(networks);
  const std::string bytes = cbor_message(int(state.range(0)));
  for (auto _ : state)
    if (!decoder.cbor(std::as_bytes(std::span(bytes)))) state.SkipWithError("refused");
  state.SetBytesProcessed(state.iterations() * std::int64_t(bytes.size()));
}

BENCHMARK(decode_json)->Arg(12)->Arg(1000);
BENCHMARK(decode_cbor)->Arg(12)->Arg(1000);

}  // namespace
}  // namespace outlierd::ingest
