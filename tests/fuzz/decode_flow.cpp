// libFuzzer: any bytes as datagrams of flow export, one after the other to one decoder, so that
// templates meet data. The first byte chooses: NetFlow v5, v9, IPFIX or sFlow (the version is put
// in place), datagrams as they are, saved templates (behind a header made to fit), or a capture
// file. $OUTLIERD_FUZZ_KIND fixes the choice, for a campaign on one of them.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "core/byte_stream.h"
#include "daemon/ingest/flow/capture.h"
#include "daemon/ingest/flow/flow_decoder.h"

namespace {

using namespace outlierd;
using namespace outlierd::ingest;
using Bytes = std::span<const std::byte>;

void demand(bool holds) {
  if (!holds) std::abort();
}

// Small, so that making room happens.
const FlowDecoderLimits kLimits{.domains = 3,
                                .templates_per_domain = 4,
                                .fields_per_template = 64,
                                .sampling_rates_per_domain = 4,
                                .state_bytes = 8192};

void check(const FlowBatch& batch, std::size_t bytes) {
  demand(std::size_t(batch.refusal) < kFlowRefusals);
  // A record takes a byte at least (a counter), so that memory is bounded by what was sent.
  demand(batch.records.size() <= bytes);
  for (const FlowRecord& record : batch.records) {
    demand(record.direction <= FlowDirection::kUnknown);
    for (const IpAddress* each : {&record.source, &record.destination, &record.next_hop,
                                  &record.bgp_next_hop, &record.exporter})
      demand(each->family == 0 || each->family == 4 || each->family == 6);
  }
}

void check_limits(const FlowDecoder& decoder) {
  const FlowDecoderCounts counts = decoder.counts();
  demand(counts.domains <= kLimits.domains);
  demand(counts.templates <= kLimits.domains * kLimits.templates_per_domain);
}

void decode_datagrams(std::uint8_t kind, Bytes bytes) {
  constexpr std::uint8_t kVersions[] = {5, 9, 10};
  const bool saved = bytes.size() % 8 == 0;  // for it takes longer than the rest
  FlowDecoder decoder(kLimits);
  FlowBatch batch;
  while (bytes.size() >= 2) {
    // Two bytes before each: its length, and who sends it.
    const std::size_t length = std::min<std::size_t>(
        std::size_t(bytes[0]) | (std::size_t(bytes[1]) & 3) << 8, bytes.size() - 2);
    const auto exporter = std::uint8_t(std::uint8_t(bytes[1]) >> 6);
    std::vector<std::byte> datagram(bytes.begin() + 2, bytes.begin() + 2 + std::ptrdiff_t(length));
    if (kind < 4 && length >= 4) {
      datagram[0] = std::byte{0};
      datagram[1] = std::byte(kind < 3 ? kVersions[kind] : 0);
      if (kind == 3) datagram[2] = std::byte{0}, datagram[3] = std::byte{5};
    }
    const IpAddress from{.bytes = {192, 0, 2, exporter}, .family = 4};
    demand(decoder.decode(from, datagram, batch) == batch.refusal);
    check(batch, length);
    demand(FlowDecoder::datagram_length(datagram) <= length);
    check_limits(decoder);
    bytes = bytes.subspan(2 + length);
  }
  if (!saved) return;
  FlowDecoder again(kLimits);
  demand(again.restore(decoder.save()).has_value());
  demand(again.counts().templates == decoder.counts().templates);
}

void restore(Bytes body) {
  ByteWriter out;
  for (char letter : {'O', 'U', 'T', 'L', 'F', 'L', 'O', 'W'}) out.number(letter);
  out.number(std::uint32_t{1});
  out.number(std::uint64_t(body.size()));
  out.number(crc64(body));
  for (std::byte byte : body) out.number(std::uint8_t(byte));
  FlowDecoder decoder(kLimits);
  const std::vector<std::byte> bytes = out.take();
  if (const auto restored = decoder.restore(bytes); !restored) {
    demand(!restored.error().empty());
    demand(decoder.counts().domains == 0);
  }
  check_limits(decoder);
  FlowDecoder again(kLimits);
  demand(again.restore(decoder.save()).has_value());
}

void read_capture(Bytes bytes) {
  CaptureReader reader(bytes);
  std::size_t taken = 0;
  while (const auto packet = reader.next()) {
    taken += packet->payload.size();
    demand(packet->refusal.empty() || packet->payload.empty());
  }
  demand(taken <= bytes.size());
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  static const char* fixed = std::getenv("OUTLIERD_FUZZ_KIND");
  const auto kind = std::uint8_t((fixed ? std::atoi(fixed) : data[0]) % 7);
  const Bytes bytes = std::as_bytes(std::span(data + 1, size - 1));
  if (kind == 5)
    restore(bytes);
  else if (kind == 6)
    read_capture(bytes);
  else
    decode_datagrams(kind, bytes);
  return 0;
}
