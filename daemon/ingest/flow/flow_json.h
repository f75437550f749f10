#pragma once
// A line of JSON of pmacct, goflow2, nfdump or vFlow into flow records; which of them it is, the
// line's own keys say. Total: a line gives records, or a reason.
//
// Times without a zone are taken as UTC. A row's own sampling rate is kept beside its counters, as
// sent; nfdump's are scaled already (rate 1). Not thread-safe; warm, it allocates nothing.

#include <cstddef>
#include <memory>
#include <string>
#include <string_view>

#include "daemon/ingest/flow/flow_batch.h"

namespace outlierd::ingest {

class FlowJsonDecoder {
 public:
  FlowJsonDecoder();
  ~FlowJsonDecoder();
  FlowJsonDecoder(FlowJsonDecoder&&) noexcept;
  FlowJsonDecoder& operator=(FlowJsonDecoder&&) noexcept;

  static constexpr std::size_t kPadding = 64;  // readable bytes needed behind the text

  // Clears `out` first; out.exporter is whom the line names, else none. pmacct's markers of a purge
  // give neither records nor a reason.
  FlowRefusal decode(std::string_view line, FlowBatch& out);
  const std::string& problem() const;  // of the line refused last: which key, and what is wrong

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace outlierd::ingest
