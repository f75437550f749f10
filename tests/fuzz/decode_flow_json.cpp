// libFuzzer: any bytes as a line of a collector's JSON.

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "daemon/ingest/flow/flow_json.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace outlierd::ingest;
  static FlowJsonDecoder decoder;
  static FlowBatch batch;
  std::string text(reinterpret_cast<const char*>(data), size);
  text.resize(size + FlowJsonDecoder::kPadding);
  const FlowRefusal refusal = decoder.decode({text.data(), size}, batch);
  if (refusal != batch.refusal) std::abort();
  if ((refusal == FlowRefusal::kNone) != decoder.problem().empty()) std::abort();
  if (refusal != FlowRefusal::kNone && !batch.records.empty()) std::abort();
  if (batch.records.size() > size) std::abort();
  return 0;
}
