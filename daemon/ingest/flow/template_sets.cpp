#include "daemon/ingest/flow/template_sets.h"

#include "daemon/ingest/flow/big_endian.h"

namespace outlierd::ingest {
namespace {

constexpr std::uint16_t kFirstDataSet = 256;
constexpr std::uint16_t kEnterpriseBit = 0x8000;

}  // namespace

DomainKey whole_exporter(const IpAddress& exporter) {
  return {exporter, 0, FlowProtocol::kUnknown};
}

void TemplateSets::refuse(FlowRefusal reason) {
  if (out_.refusal == FlowRefusal::kNone) out_.refusal = reason;
}

MessageTotals TemplateSets::decode(std::span<const std::byte> sets) {
  Cursor in(sets);
  while (in.left() >= 4) {
    const std::span<const std::byte> here = in.rest();
    const std::uint16_t id = in.u16(), length = in.u16();
    if (length < 4 || length > here.size()) {
      // Some exporters send datagrams of one size, filled up with zeros.
      if (!all_zero(here)) {
        refuse(FlowRefusal::kBadLength);
        totals_.whole = false;
      }
      break;
    }
    decode_set(id, in.bytes(length - 4u));
  }
  return totals_;
}

void TemplateSets::decode_set(std::uint16_t id, std::span<const std::byte> set) {
  const bool netflow9 = out_.protocol == FlowProtocol::kNetflow9;
  if (id >= kFirstDataSet)
    decode_data(id, set);
  else if (id == (netflow9 ? 0 : 2))
    learn_templates(set, false);
  else if (id == (netflow9 ? 1 : 3))
    learn_templates(set, true);
  // The other numbers are reserved: skipped.
}

bool TemplateSets::read_fields(Cursor& in, std::size_t count, FlowTemplate& made) const {
  if (count * 4 > in.left()) return false;
  const bool enterprises = out_.protocol == FlowProtocol::kIpfix;
  made.fields.reserve(count);
  for (std::size_t k = 0; k < count; ++k) {
    TemplateField field;
    field.element = in.u16();
    field.length = in.u16();
    if (enterprises && (field.element & kEnterpriseBit)) {
      field.element = std::uint16_t(field.element & ~kEnterpriseBit);
      field.enterprise = in.u32();
    }
    if (in.failed()) return false;
    made.fields.push_back(field);
  }
  return true;
}

void TemplateSets::learn_templates(std::span<const std::byte> set, bool options) {
  const bool netflow9 = out_.protocol == FlowProtocol::kNetflow9;
  Cursor in(set);
  while (in.left() >= 4) {
    if (all_zero(in.rest())) return;  // padding
    FlowTemplate made;
    made.options = options;
    made.id = in.u16();
    std::size_t count = in.u16();
    if (!netflow9 && count == 0) {
      if (made.id < kFirstDataSet && made.id != (options ? 3 : 2))
        return refuse(FlowRefusal::kBadTemplate);
      out_.templates_withdrawn += state_.withdraw(domain_, made.id);
      continue;
    }
    std::size_t scopes = 0;
    if (options) {
      scopes = in.u16();
      if (netflow9) {  // both in bytes, the scopes first
        const std::size_t scope_bytes = count, option_bytes = scopes;
        scopes = scope_bytes / 4;
        count = scopes + option_bytes / 4;
      }
    }
    made.scope_fields = std::uint16_t(scopes);
    const bool readable =
        made.id >= kFirstDataSet && count > 0 && scopes <= count && read_fields(in, count, made);
    if (!readable || count > state_.limits().fields_per_template ||
        !state_.define(domain_, std::move(made))) {
      ++out_.templates_refused;
      refuse(FlowRefusal::kBadTemplate);
      if (!readable) return;
      continue;
    }
    ++out_.templates;
  }
}

std::uint32_t TemplateSets::rate_of_others() {
  if (const std::uint32_t rate = domain_.common_rate()) return rate;
  const Domain* exporter = state_.find(whole_exporter(domain_.key().exporter));
  return exporter ? exporter->default_rate : 0;
}

void TemplateSets::decode_data(std::uint16_t id, std::span<const std::byte> set) {
  FlowTemplate* made = domain_.find_template(id);
  if (!made) {
    ++out_.sets_without_template;
    totals_.whole = false;
    return;
  }
  state_.use(*made);
  SetOutcome outcome;
  if (made->options) {
    outcome = decode_options(*made, set, state_, domain_, places_);
    out_.options_records += outcome.records;
  } else {
    outcome = decode_records(*made, set, time_, domain_, rate_of_others(), places_, out_);
  }
  totals_.data_records += outcome.records;
  if (outcome.cut_off) {
    refuse(FlowRefusal::kBadLength);
    totals_.whole = false;
  }
}

}  // namespace outlierd::ingest
