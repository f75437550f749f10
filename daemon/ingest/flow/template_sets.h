#pragma once
// The sets of one NetFlow v9 or IPFIX message: templates are learned, data records become flow
// records, options records become sampling rates. A set with a fault costs that set.

#include <cstddef>
#include <cstdint>
#include <span>

#include "daemon/ingest/flow/record_decoder.h"

namespace outlierd::ingest {

struct MessageTotals {
  std::uint32_t data_records = 0;  // of all kinds
  bool whole = true;               // false: some set could not be counted
};

class TemplateSets {
 public:
  TemplateSets(ExporterState& state, FieldPlaces& places, Domain& domain, const ExporterTime& time,
               FlowBatch& out)
      : state_(state), places_(places), domain_(domain), time_(time), out_(out) {}

  MessageTotals decode(std::span<const std::byte> sets);

 private:
  void decode_set(std::uint16_t id, std::span<const std::byte> set);
  void learn_templates(std::span<const std::byte> set, bool options);
  bool read_fields(class Cursor& in, std::size_t count, FlowTemplate& made) const;
  void decode_data(std::uint16_t id, std::span<const std::byte> set);
  std::uint32_t rate_of_others();
  void refuse(FlowRefusal reason);

  ExporterState& state_;
  FieldPlaces& places_;
  Domain& domain_;
  const ExporterTime& time_;
  FlowBatch& out_;
  MessageTotals totals_;
};

// Whom a rate said by any domain of an exporter is noted for, for those that say none.
DomainKey whole_exporter(const IpAddress& exporter);

}  // namespace outlierd::ingest
