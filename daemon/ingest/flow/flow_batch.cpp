#include "daemon/ingest/flow/flow_batch.h"

#include <algorithm>
#include <array>

namespace outlierd::ingest {

std::string_view name_of(FlowProtocol protocol) {
  constexpr std::array<std::string_view, kFlowProtocols> kNames = {
      "unknown", "netflow5", "netflow9", "ipfix", "sflow5", "pmacct", "goflow2", "nfdump", "vflow"};
  return kNames[std::size_t(protocol)];
}

std::string_view name_of(FlowRefusal refusal) {
  constexpr std::array<std::string_view, kFlowRefusals> kNames = {
      "none",         "too_short", "unknown_version", "bad_length",
      "bad_template", "not_json",  "unknown_dialect", "bad_field"};
  return kNames[std::size_t(refusal)];
}

std::string_view text_of(FlowRefusal refusal) {
  constexpr std::array<std::string_view, kFlowRefusals> kTexts = {
      "nothing is wrong",
      "ends inside its header",
      "is not NetFlow v5, v9, IPFIX or sFlow v5",
      "has a length or count that does not fit",
      "has a template that no record can follow",
      "is not a JSON object",
      "is JSON of none of the known collectors",
      "has a value that is not what its key promises"};
  return kTexts[std::size_t(refusal)];
}

void FlowBatch::clear() {
  std::vector<FlowRecord> kept = std::move(records);
  kept.clear();
  *this = FlowBatch{};
  records = std::move(kept);
}

// Copied from many blanks at once: g++ makes a single one with instructions that take longer than
// all the rest of decoding a record.
FlowRecord* FlowBatch::append(std::size_t count, std::uint32_t sampling_rate) {
  static const std::array<FlowRecord, 8> kBlanks{};
  const std::size_t before = records.size();
  for (std::size_t left = count; left > 0;) {
    const std::size_t some = std::min(left, kBlanks.size());
    records.insert(records.end(), kBlanks.data(), kBlanks.data() + some);
    left -= some;
  }
  for (std::size_t k = before; k < records.size(); ++k) records[k].sampling_rate = sampling_rate;
  return records.data() + before;
}

}  // namespace outlierd::ingest
