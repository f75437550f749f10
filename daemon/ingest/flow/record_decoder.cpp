#include "daemon/ingest/flow/record_decoder.h"

#include <algorithm>

#include "daemon/ingest/flow/big_endian.h"
#include "daemon/ingest/flow/packet_header.h"

namespace outlierd::ingest {
namespace {

constexpr std::uint64_t kLastMillisecond = 253402300799999;  // of the year 9999
constexpr std::uint64_t kNtpToUnix = 2208988800;             // seconds from 1900 to 1970

// The place of one field in all records of a set, and of the member it goes to.
struct Column {
  const std::byte* in;
  std::size_t stride;
  std::size_t length;
  std::byte* out;
  std::size_t count;
};

template <class Visit>
void each(const Column& column, const Visit& visit) {
  const std::byte* in = column.in;
  std::byte* out = column.out;
#pragma GCC unroll 4
  for (std::size_t k = 0; k < column.count; ++k) {
    visit(in, out);
    in += column.stride;
    out += sizeof(FlowRecord);
  }
}

template <class Member>
void put(std::byte* out, Member value) {
  std::memcpy(out, &value, sizeof value);
}

// Calls visit(load) with a function that loads a number of the column's length.
template <class Visit>
void with_loader(std::size_t length, const Visit& visit) {
  switch (length) {
    case 1:
      return visit([](const std::byte* in) { return load8(in); });
    case 2:
      return visit([](const std::byte* in) { return load16(in); });
    case 4:
      return visit([](const std::byte* in) { return load32(in); });
    case 8:
      return visit([](const std::byte* in) { return load64(in); });
    default:
      if (length <= 8)
        return visit([length](const std::byte* in) { return load_number(in, length); });
  }
}

template <class Member>
void copy_numbers(const Column& column, bool only_if_set) {
  with_loader(column.length, [&](const auto load) {
    if (only_if_set)
      each(column, [&](const std::byte* in, std::byte* out) {
        if (const auto value = Member(load(in)); value != 0) put(out, value);
      });
    else
      each(column, [&](const std::byte* in, std::byte* out) { put(out, Member(load(in))); });
  });
}

template <std::uint8_t Family>
void copy_addresses(const Column& column, bool only_if_set) {
  constexpr std::size_t kLength = Family == 6 ? 16 : 4;
  if (column.length != kLength) return;
  each(column, [&](const std::byte* in, std::byte* out) {
    if (only_if_set && all_zero({in, kLength})) return;
    if (Family == 4 && only_if_set) std::memset(out, 0, 16);
    std::memcpy(out + offsetof(IpAddress, bytes), in, kLength);
    put(out + offsetof(IpAddress, family), Family);
  });
}

void put_time(std::byte* out, std::uint64_t milliseconds) {
  if (milliseconds != 0 && milliseconds <= kLastMillisecond) put(out, std::int64_t(milliseconds));
}

std::uint64_t ntp_to_milliseconds(std::uint64_t ntp) {
  const std::uint64_t seconds = ntp >> 32, fraction = ntp & 0xffffffff;
  if (ntp == 0) return 0;
  // The era from 1900 has the first bit set in all years that matter; then comes that from 2036.
  const std::uint64_t since_1900 =
      seconds & 0x80000000 ? seconds : seconds + (std::uint64_t{1} << 32);
  return (since_1900 - kNtpToUnix) * 1000 + (fraction * 1000 >> 32);
}

void copy_times(const Column& column, Action action, const ExporterTime& time) {
  with_loader(column.length, [&](const auto load) {
    if (action == Action::kUptime) {
      if (!time.has_uptime) return;
      each(column, [&](const std::byte* in, std::byte* out) {
        put(out, time.export_time - std::int32_t(time.uptime - std::uint32_t(load(in))));
      });
    } else if (action == Action::kSeconds) {
      each(column, [&](const std::byte* in, std::byte* out) {
        const std::uint64_t seconds = load(in);
        if (seconds <= kLastMillisecond / 1000) put_time(out, seconds * 1000);
      });
    } else if (action == Action::kMilliseconds) {
      each(column, [&](const std::byte* in, std::byte* out) { put_time(out, load(in)); });
    } else if (column.length == 8) {
      each(column, [&](const std::byte* in, std::byte* out) {
        put_time(out, ntp_to_milliseconds(load(in)));
      });
    }
  });
}

void copy_directions(const Column& column) {
  with_loader(column.length, [&](const auto load) {
    each(column, [&](const std::byte* in, std::byte* out) {
      const std::uint64_t value = load(in);
      put(out, value == 0   ? FlowDirection::kIngress
               : value == 1 ? FlowDirection::kEgress
                            : FlowDirection::kUnknown);
    });
  });
}

void look_up_samplers(const Column& column, const Domain& domain) {
  with_loader(column.length, [&](const auto load) {
    std::uint64_t last = 0;
    std::uint32_t rate = domain.rate_of(RateScope::kSampler, last);
    each(column, [&](const std::byte* in, std::byte* out) {
      const std::uint64_t sampler = load(in);
      if (sampler != last) rate = domain.rate_of(RateScope::kSampler, last = sampler);
      if (rate != 0) put(out, rate);
    });
  });
}

std::uint32_t as_rate(std::uint64_t rate) {
  return std::uint32_t(std::min<std::uint64_t>(rate, 0xffffffff));
}

// (taken + left out) / taken, or population / taken; 0: not said. To the nearest whole number.
std::uint32_t rate_of_pair(Action action, std::uint64_t taken, std::uint64_t other) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 62;
  if (taken == 0 || taken > kMost || other > kMost) return 0;
  const std::uint64_t population = action == Action::kSpacing ? taken + other : other;
  return as_rate((population + taken / 2) / taken);
}

void read_packets(const Column& column, std::size_t captured, Action action) {
  each(column, [&](const std::byte* in, std::byte* out) {
    auto& record = *reinterpret_cast<FlowRecord*>(out);
    const std::span<const std::byte> bytes(in, captured);
    const std::uint32_t length =
        action == Action::kFrame ? read_ethernet(bytes, record) : read_ip(bytes, record);
    if (record.packets == 0) record.packets = 1;
    if (record.bytes == 0) record.bytes = length;
  });
}

struct Place {
  std::uint32_t offset, length;
};

// Runs one operation over `count` records, `stride` apart.
void run(const Operation& operation, const std::byte* first, Place place, Place other,
         std::size_t stride, FlowRecord* records, std::size_t count, const ExporterTime& time,
         const Domain& domain) {
  if (place.length == 0) return;
  const Column column{first + place.offset, stride, place.length,
                      reinterpret_cast<std::byte*>(records) + operation.target, count};
  switch (operation.action) {
    case Action::kNumber8:
      return copy_numbers<std::uint8_t>(column, operation.only_if_set);
    case Action::kNumber16:
      return copy_numbers<std::uint16_t>(column, operation.only_if_set);
    case Action::kNumber32:
      return copy_numbers<std::uint32_t>(column, operation.only_if_set);
    case Action::kNumber64:
      return copy_numbers<std::uint64_t>(column, operation.only_if_set);
    case Action::kAddress4:
      return copy_addresses<4>(column, operation.only_if_set);
    case Action::kAddress6:
      return copy_addresses<6>(column, operation.only_if_set);
    case Action::kDirection:
      return copy_directions(column);
    case Action::kSeconds:
    case Action::kMilliseconds:
    case Action::kNtp:
    case Action::kUptime:
      return copy_times(column, operation.action, time);
    case Action::kFrame:
    case Action::kPacket: {
      Column whole = column;
      whole.out = reinterpret_cast<std::byte*>(records);
      return read_packets(whole, place.length, operation.action);
    }
    case Action::kSampler:
      return look_up_samplers(column, domain);
    case Action::kRate:
      return with_loader(column.length, [&](const auto load) {
        each(column, [&](const std::byte* in, std::byte* out) {
          if (const std::uint32_t rate = as_rate(load(in))) put(out, rate);
        });
      });
    case Action::kSpacing:
    case Action::kPopulation: {
      if (place.length > 8 || other.length > 8) return;
      const std::ptrdiff_t apart = std::ptrdiff_t(other.offset) - std::ptrdiff_t(place.offset);
      return each(column, [&](const std::byte* in, std::byte* out) {
        const std::uint32_t rate = rate_of_pair(operation.action, load_number(in, place.length),
                                                load_number(in + apart, other.length));
        if (rate != 0) put(out, rate);
      });
    }
  }
}

void use_interface_rates(const Domain& domain, std::span<FlowRecord> records) {
  if (!domain.has_interface_rates()) return;
  for (FlowRecord& record : records)
    if (const auto rate = domain.rate_of(RateScope::kInterface, record.input_interface))
      record.sampling_rate = rate;
}

// The clock of records that give the exporter's start themselves (element 160), else as it is.
ExporterTime time_of(const FlowTemplate& made, const std::byte* record, Place place,
                     const ExporterTime& time) {
  if (made.system_start_field < 0 || place.length == 0 || place.length > 8) return time;
  const std::uint64_t start = load_number(record + place.offset, place.length);
  if (start == 0 || start > kLastMillisecond) return time;
  return {time.export_time, std::uint32_t(std::uint64_t(time.export_time) - start), true};
}

SetOutcome decode_fixed(const FlowTemplate& made, std::span<const std::byte> set,
                        const ExporterTime& time, const Domain& domain, std::uint32_t rate,
                        FlowBatch& out) {
  const std::size_t count = set.size() / made.record_length;
  if (count == 0) return {};
  FlowRecord* records = out.append(count, rate);
  ExporterTime clock = time;
  if (made.system_start_field >= 0) {
    // The same for all records of a set: it is when the exporter started.
    std::uint32_t offset = 0;
    for (std::int32_t k = 0; k < made.system_start_field; ++k) offset += made.fields[k].length;
    clock = time_of(made, set.data(), {offset, made.fields[made.system_start_field].length}, time);
  }
  for (std::size_t k = 0; k < made.operations.size(); ++k) {
    if (k == made.first_sampling_operation) use_interface_rates(domain, {records, count});
    const Operation& each = made.operations[k];
    run(each, set.data(), {each.offset, each.length}, {each.other_offset, each.other_length},
        made.record_length, records, count, clock, domain);
  }
  if (made.first_sampling_operation == made.operations.size())
    use_interface_rates(domain, {records, count});
  return {std::uint32_t(count), false};
}

void decode_one(const FlowTemplate& made, std::span<const std::byte> bytes,
                const ExporterTime& time, const Domain& domain, std::uint32_t rate,
                const FieldPlaces& places, FlowBatch& out) {
  FlowRecord& record = *out.append(1, rate);
  const auto place = [&](std::size_t field) {
    return Place{places.offsets[field], places.lengths[field]};
  };
  ExporterTime clock = time;
  if (made.system_start_field >= 0)
    clock = time_of(made, bytes.data(), place(std::size_t(made.system_start_field)), time);
  for (std::size_t k = 0; k < made.operations.size(); ++k) {
    if (k == made.first_sampling_operation) use_interface_rates(domain, {&record, 1});
    const Operation& each = made.operations[k];
    run(each, bytes.data(), place(each.field), place(each.other_field), 0, &record, 1, clock,
        domain);
  }
  if (made.first_sampling_operation == made.operations.size())
    use_interface_rates(domain, {&record, 1});
}

// Calls visit(the record's bytes, its places) for each record of a set.
template <class Visit>
SetOutcome walk_records(const FlowTemplate& made, std::span<const std::byte> set,
                        FieldPlaces& places, const Visit& visit) {
  SetOutcome outcome;
  while (set.size() >= made.record_length) {
    const std::size_t length = places.locate(made, set);
    if (length == 0) {
      outcome.cut_off = true;
      break;
    }
    visit(set.first(length));
    ++outcome.records;
    set = set.subspan(length);
  }
  return outcome;
}

// What one options record says of sampling.
struct OptionsFacts {
  bool has_sampler = false, has_interface = false, has_space = false;
  std::uint64_t sampler = 0, interface = 0, interval = 0, random_interval = 0, taken = 0, space = 0,
                size = 0, population = 0, system_start = 0;

  void note(std::uint16_t element, std::uint64_t value) {
    switch (element) {
      case 34:
        interval = value;
        break;
      case 50:
        random_interval = value;
        break;
      case 48:
      case 302:
        sampler = value;
        has_sampler = true;
        break;
      case 160:
        system_start = value;
        break;
      case 305:
        taken = value;
        break;
      case 306:
        space = value;
        has_space = true;
        break;
      case 309:
        size = value;
        break;
      case 310:
        population = value;
        break;
      default:
        break;
    }
  }
  std::uint32_t rate() const {
    if (interval != 0) return as_rate(interval);
    if (random_interval != 0) return as_rate(random_interval);
    if (has_space)
      if (const std::uint32_t rate = rate_of_pair(Action::kSpacing, taken, space)) return rate;
    return rate_of_pair(Action::kPopulation, size, population);
  }
};

void learn(const OptionsFacts& facts, ExporterState& state, Domain& domain) {
  if (facts.system_start != 0 && facts.system_start <= kLastMillisecond)
    domain.system_start = std::int64_t(facts.system_start);
  const std::uint32_t rate = facts.rate();
  if (rate == 0) return;
  if (facts.has_sampler)
    state.set_rate(domain, RateScope::kSampler, facts.sampler, rate);
  else if (facts.has_interface)
    state.set_rate(domain, RateScope::kInterface, facts.interface, rate);
  else
    domain.default_rate = rate;
  domain.latest_rate = rate;
}

}  // namespace

std::size_t FieldPlaces::locate(const FlowTemplate& made, std::span<const std::byte> bytes) {
  offsets.resize(made.fields.size());
  lengths.resize(made.fields.size());
  std::size_t at = 0;
  for (std::size_t k = 0; k < made.fields.size(); ++k) {
    std::size_t length = made.fields[k].length;
    if (length == kVariableLength) {
      if (at + 1 > bytes.size()) return 0;
      length = load8(bytes.data() + at++);
      if (length == 255) {
        if (at + 2 > bytes.size()) return 0;
        length = load16(bytes.data() + at);
        at += 2;
      }
    }
    if (length > bytes.size() - at) return 0;
    offsets[k] = std::uint32_t(at);
    lengths[k] = std::uint32_t(length);
    at += length;
  }
  return at;
}

SetOutcome decode_records(const FlowTemplate& made, std::span<const std::byte> set,
                          const ExporterTime& time, const Domain& domain, std::uint32_t rate,
                          FieldPlaces& places, FlowBatch& out) {
  ExporterTime clock = time;
  if (!clock.has_uptime && domain.system_start >= 0) {
    clock.uptime = std::uint32_t(time.export_time - domain.system_start);
    clock.has_uptime = true;
  }
  SetOutcome outcome;
  if (!made.variable && made.gives_flows) return decode_fixed(made, set, clock, domain, rate, out);
  if (!made.variable)
    outcome.records = std::uint32_t(set.size() / made.record_length);
  else
    outcome = walk_records(made, set, places, [&](std::span<const std::byte> bytes) {
      if (made.gives_flows) decode_one(made, bytes, clock, domain, rate, places, out);
    });
  if (!made.gives_flows) out.records_ignored += outcome.records;
  return outcome;
}

SetOutcome decode_options(const FlowTemplate& made, std::span<const std::byte> set,
                          ExporterState& state, Domain& domain, FieldPlaces& places) {
  const bool netflow9 = domain.key().protocol == FlowProtocol::kNetflow9;
  return walk_records(made, set, places, [&](std::span<const std::byte> bytes) {
    OptionsFacts facts;
    for (std::size_t k = 0; k < made.fields.size(); ++k) {
      const TemplateField& field = made.fields[k];
      const std::size_t length = places.lengths[k];
      if (field.enterprise != 0 || length == 0 || length > 8) continue;
      const std::uint64_t value = load_number(bytes.data() + places.offsets[k], length);
      const bool scope = k < made.scope_fields;
      // Version 9 has its own numbers for scopes: 2 is an interface.
      if (scope && field.element == (netflow9 ? 2 : 10)) {
        facts.interface = value;
        facts.has_interface = true;
      } else if (!(scope && netflow9 && field.element <= 5)) {
        facts.note(field.element, value);
      }
    }
    learn(facts, state, domain);
  });
}

}  // namespace outlierd::ingest
