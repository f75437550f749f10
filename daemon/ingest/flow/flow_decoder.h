#pragma once
// NetFlow v5 and v9, IPFIX and sFlow v5 datagrams into flow records; which of them it is, the
// datagram says itself. Total: any bytes give records, a reason, or both (what came before a fault
// stays). Templates and sampling rates are kept per exporter and observation domain, bounded in
// number and bytes, the least recently used going first, those that never gave a record before
// those that did. They are saved to bytes and restored from them.
//
// Not thread-safe: one object a receiver. Warm, decoding allocates nothing. Reads no clock.

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "daemon/ingest/flow/flow_batch.h"

namespace outlierd::ingest {

struct FlowDecoderLimits {
  std::size_t domains = 8192;  // (exporter, observation domain, protocol)
  std::size_t templates_per_domain = 1024;
  std::size_t fields_per_template = 2048;
  std::size_t sampling_rates_per_domain = 4096;
  std::size_t state_bytes = 64u << 20;  // of everything kept, about
};

// Of everything so far; what is bounded is what is kept, so that an attack can be seen here.
struct FlowDecoderCounts {
  std::size_t domains = 0, templates = 0, state_bytes = 0;   // kept now
  std::uint64_t domains_evicted = 0, templates_evicted = 0;  // since the start
};

class FlowDecoder {
 public:
  explicit FlowDecoder(const FlowDecoderLimits& limits = {});
  ~FlowDecoder();
  FlowDecoder(FlowDecoder&&) noexcept;
  FlowDecoder& operator=(FlowDecoder&&) noexcept;

  // Clears `out` first. The answer is out.refusal: kNone even where there was nothing but
  // templates.
  FlowRefusal decode(const IpAddress& exporter, std::span<const std::byte> datagram,
                     FlowBatch& out);

  // How far the first datagram of several in a row reaches (files of raw datagrams): its length, or
  // all of the bytes where that cannot be told.
  static std::size_t datagram_length(std::span<const std::byte> bytes);

  FlowDecoderCounts counts() const;

  // Templates and sampling rates, not sequence numbers: what was missed while away is not loss.
  std::vector<std::byte> save() const;
  // Adds what was saved to what is known. On a reason nothing is changed.
  tl::expected<void, std::string> restore(std::span<const std::byte> bytes);

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outlierd::ingest
