#include "daemon/ingest/flow/flow_template.h"

#include <algorithm>
#include <array>

#include "core/traffic/flow_record.h"

namespace outlierd::ingest {
namespace {

struct Rule {
  std::uint16_t element;
  Action action;
  std::uint16_t target;
  std::uint16_t other_element = 0;
};

constexpr std::uint16_t kRateTarget = offsetof(FlowRecord, sampling_rate);

#define OUTLIERD_AT(member) std::uint16_t(offsetof(FlowRecord, member))
// For each member the fallbacks first, the best last.
constexpr std::array kRules = {
    Rule{8, Action::kAddress4, OUTLIERD_AT(source)},
    Rule{27, Action::kAddress6, OUTLIERD_AT(source)},
    Rule{12, Action::kAddress4, OUTLIERD_AT(destination)},
    Rule{28, Action::kAddress6, OUTLIERD_AT(destination)},
    Rule{15, Action::kAddress4, OUTLIERD_AT(next_hop)},
    Rule{62, Action::kAddress6, OUTLIERD_AT(next_hop)},
    Rule{18, Action::kAddress4, OUTLIERD_AT(bgp_next_hop)},
    Rule{63, Action::kAddress6, OUTLIERD_AT(bgp_next_hop)},
    Rule{130, Action::kAddress4, OUTLIERD_AT(exporter)},
    Rule{131, Action::kAddress6, OUTLIERD_AT(exporter)},
    Rule{312, Action::kNumber64, OUTLIERD_AT(bytes)},  // the frame's, where it is a packet's record
    Rule{23, Action::kNumber64, OUTLIERD_AT(bytes)},
    Rule{85, Action::kNumber64, OUTLIERD_AT(bytes)},
    Rule{1, Action::kNumber64, OUTLIERD_AT(bytes)},
    Rule{24, Action::kNumber64, OUTLIERD_AT(packets)},
    Rule{86, Action::kNumber64, OUTLIERD_AT(packets)},
    Rule{2, Action::kNumber64, OUTLIERD_AT(packets)},
    Rule{3, Action::kNumber64, OUTLIERD_AT(flows)},
    Rule{252, Action::kNumber32, OUTLIERD_AT(input_interface)},
    Rule{10, Action::kNumber32, OUTLIERD_AT(input_interface)},
    Rule{253, Action::kNumber32, OUTLIERD_AT(output_interface)},
    Rule{14, Action::kNumber32, OUTLIERD_AT(output_interface)},
    Rule{16, Action::kNumber32, OUTLIERD_AT(source_as)},
    Rule{17, Action::kNumber32, OUTLIERD_AT(destination_as)},
    Rule{7, Action::kNumber16, OUTLIERD_AT(source_port)},
    Rule{11, Action::kNumber16, OUTLIERD_AT(destination_port)},
    Rule{4, Action::kNumber8, OUTLIERD_AT(protocol)},
    Rule{5, Action::kNumber8, OUTLIERD_AT(type_of_service)},
    Rule{6, Action::kNumber8, OUTLIERD_AT(tcp_flags)},
    Rule{9, Action::kNumber8, OUTLIERD_AT(source_prefix_length)},
    Rule{29, Action::kNumber8, OUTLIERD_AT(source_prefix_length)},
    Rule{13, Action::kNumber8, OUTLIERD_AT(destination_prefix_length)},
    Rule{30, Action::kNumber8, OUTLIERD_AT(destination_prefix_length)},
    Rule{61, Action::kDirection, OUTLIERD_AT(direction)},
    Rule{22, Action::kUptime, OUTLIERD_AT(start)},
    Rule{150, Action::kSeconds, OUTLIERD_AT(start)},
    Rule{152, Action::kMilliseconds, OUTLIERD_AT(start)},
    Rule{154, Action::kNtp, OUTLIERD_AT(start)},
    Rule{156, Action::kNtp, OUTLIERD_AT(start)},
    Rule{21, Action::kUptime, OUTLIERD_AT(end)},
    Rule{151, Action::kSeconds, OUTLIERD_AT(end)},
    Rule{153, Action::kMilliseconds, OUTLIERD_AT(end)},
    Rule{155, Action::kNtp, OUTLIERD_AT(end)},
    Rule{157, Action::kNtp, OUTLIERD_AT(end)},
    Rule{313, Action::kPacket, OUTLIERD_AT(source)},
    Rule{315, Action::kFrame, OUTLIERD_AT(source)},
    Rule{302, Action::kSampler, kRateTarget},
    Rule{48, Action::kSampler, kRateTarget},
    Rule{309, Action::kPopulation, kRateTarget, 310},
    Rule{305, Action::kSpacing, kRateTarget, 306},
    Rule{50, Action::kRate, kRateTarget},
    Rule{34, Action::kRate, kRateTarget},
};
#undef OUTLIERD_AT

constexpr std::size_t kElements = 320;  // all of the above are below
constexpr std::uint16_t kNoField = 65535;

// Whether a field of this length can be what the action reads.
bool fits(Action action, std::uint16_t length) {
  if (length == kVariableLength) return true;  // seen when the record is there
  switch (action) {
    case Action::kAddress4:
      return length == 4;
    case Action::kAddress6:
      return length == 16;
    case Action::kNtp:
      return length == 8;
    case Action::kFrame:
    case Action::kPacket:
      return length > 0;
    default:
      return length >= 1 && length <= 8;
  }
}

bool counts(const Operation& operation) {
  return operation.target == offsetof(FlowRecord, bytes) ||
         operation.target == offsetof(FlowRecord, packets) || operation.action == Action::kFrame ||
         operation.action == Action::kPacket;
}

}  // namespace

bool FlowTemplate::compile() {
  variable = false;
  gives_flows = false;
  system_start_field = -1;
  operations.clear();
  std::array<std::uint16_t, kElements> place;  // of the first field with this element
  place.fill(kNoField);
  std::vector<std::uint32_t> offsets(fields.size());
  std::uint64_t length = 0;
  for (std::size_t k = 0; k < fields.size(); ++k) {
    const TemplateField& field = fields[k];
    offsets[k] = std::uint32_t(length);
    if (field.length == kVariableLength) {
      variable = true;
      length += 1;
    } else {
      length += field.length;
    }
    if (length > kLongestRecord) return false;
    if (k >= scope_fields && field.enterprise == 0 && field.element < kElements &&
        field.length > 0 && place[field.element] == kNoField)
      place[field.element] = std::uint16_t(k);
  }
  record_length = std::uint32_t(length);
  if (record_length == 0) return false;
  if (options) return true;

  if (place[160] != kNoField) system_start_field = place[160];
  first_sampling_operation = 0;
  for (const Rule& rule : kRules) {
    const std::uint16_t at = place[rule.element];
    if (at == kNoField || !fits(rule.action, fields[at].length)) continue;
    Operation made{.action = rule.action,
                   .target = rule.target,
                   .field = at,
                   .length = fields[at].length,
                   .offset = offsets[at]};
    if (rule.other_element != 0) {
      const std::uint16_t other = place[rule.other_element];
      if (other == kNoField || !fits(rule.action, fields[other].length)) continue;
      made.other_field = other;
      made.other_length = fields[other].length;
      made.other_offset = offsets[other];
    }
    // Counters that are zero mean it: of several (a total, the other direction's) the best alone.
    if (made.target == offsetof(FlowRecord, bytes) || made.target == offsetof(FlowRecord, packets))
      std::erase_if(operations, [&](const Operation& each) { return each.target == made.target; });
    made.only_if_set =
        rule.target == offsetof(FlowRecord, flows) ||
        std::any_of(operations.begin(), operations.end(),
                    [&](const Operation& earlier) { return earlier.target == rule.target; });
    gives_flows = gives_flows || counts(made);
    operations.push_back(made);
    if (made.action < Action::kSampler) first_sampling_operation = operations.size();
  }
  return true;
}

std::size_t FlowTemplate::memory() const {
  return sizeof *this + fields.capacity() * sizeof(TemplateField) +
         operations.capacity() * sizeof(Operation) + 64;
}

}  // namespace outlierd::ingest
