#include "daemon/ingest/flow/decoder_snapshot.h"

#include <optional>

#include "core/byte_stream.h"

namespace outlierd::ingest {
namespace {

constexpr char kMagic[] = {'O', 'U', 'T', 'L', 'F', 'L', 'O', 'W'};
constexpr std::uint32_t kVersion = 1;

struct SavedRate {
  RateScope scope{};
  std::uint64_t id = 0;
  std::uint32_t rate = 0;
};

struct SavedDomain {
  DomainKey key;
  bool proven = false;
  std::uint32_t default_rate = 0;
  std::int64_t system_start = -1;
  std::vector<SavedRate> rates;
  std::vector<FlowTemplate> templates;
};

void write_template(const FlowTemplate& made, ByteWriter& out) {
  out.number(made.id);
  out.number(std::uint8_t(made.options));
  out.number(made.scope_fields);
  out.number(std::uint32_t(made.fields.size()));
  for (const TemplateField& field : made.fields) {
    out.number(field.element);
    out.number(field.length);
    out.number(field.enterprise);
  }
}

void write_domain(const Domain& domain, ByteWriter& out) {
  const DomainKey& key = domain.key();
  out.number(key.exporter.family);
  out.numbers(std::span<const std::uint8_t>(key.exporter.bytes));
  out.number(key.domain);
  out.number(std::uint8_t(key.protocol));
  out.number(std::uint8_t(ExporterState::proven(domain)));
  out.number(domain.default_rate);
  out.number(domain.system_start);
  std::uint32_t rates = 0;
  ExporterState::each_rate(domain, [&](RateScope, std::uint64_t, std::uint32_t) { ++rates; });
  out.number(rates);
  ExporterState::each_rate(domain, [&](RateScope scope, std::uint64_t id, std::uint32_t rate) {
    out.number(std::uint8_t(scope));
    out.number(id);
    out.number(rate);
  });
  out.number(std::uint32_t(domain.templates().size()));
  for (const auto& each : domain.templates()) write_template(*each, out);
}

bool keeps_anything(const Domain& domain) {
  bool keeps = !domain.templates().empty() || domain.default_rate != 0 || domain.system_start >= 0;
  ExporterState::each_rate(domain, [&](RateScope, std::uint64_t, std::uint32_t) { keeps = true; });
  return keeps;
}

bool read_template(ByteReader& in, const FlowDecoderLimits& limits, FlowTemplate& made) {
  made.id = in.number<std::uint16_t>();
  made.options = in.number<std::uint8_t>() != 0;
  made.scope_fields = in.number<std::uint16_t>();
  const std::uint32_t fields = in.number<std::uint32_t>();
  if (in.failed() || made.id < 256 || fields == 0 || fields > limits.fields_per_template ||
      made.scope_fields > fields || fields > in.rest().size() / 8)
    return false;
  made.fields.resize(fields);
  for (TemplateField& field : made.fields) {
    field.element = in.number<std::uint16_t>();
    field.length = in.number<std::uint16_t>();
    field.enterprise = in.number<std::uint32_t>();
  }
  return !in.failed() && made.compile();
}

bool read_domain(ByteReader& in, const FlowDecoderLimits& limits, SavedDomain& out) {
  out.key.exporter.family = in.number<std::uint8_t>();
  in.numbers(std::span<std::uint8_t>(out.key.exporter.bytes));
  out.key.domain = in.number<std::uint32_t>();
  const std::uint8_t protocol = in.number<std::uint8_t>();
  out.proven = in.number<std::uint8_t>() != 0;
  out.default_rate = in.number<std::uint32_t>();
  out.system_start = in.number<std::int64_t>();
  const std::uint32_t rates = in.number<std::uint32_t>();
  const std::uint8_t family = out.key.exporter.family;
  if (in.failed() || protocol > std::uint8_t(FlowProtocol::kSflow5) || out.system_start < -1 ||
      (family != 0 && family != 4 && family != 6) || rates > in.rest().size() / 13)
    return false;
  out.key.protocol = FlowProtocol(protocol);
  for (std::uint32_t k = 0; k < rates; ++k) {
    const std::uint8_t scope = in.number<std::uint8_t>();
    const std::uint64_t id = in.number<std::uint64_t>();
    const std::uint32_t rate = in.number<std::uint32_t>();
    if (scope > std::uint8_t(RateScope::kInterface) || rate == 0) return false;
    out.rates.push_back({RateScope(scope), id, rate});
  }
  const std::uint32_t templates = in.number<std::uint32_t>();
  for (std::uint32_t k = 0; k < templates; ++k)
    if (!read_template(in, limits, out.templates.emplace_back())) return false;
  return !in.failed();
}

void add(SavedDomain& saved, ExporterState& state) {
  Domain& domain = state.domain(saved.key);
  if (saved.default_rate != 0) domain.default_rate = saved.default_rate;
  if (saved.system_start >= 0) domain.system_start = saved.system_start;
  for (const SavedRate& each : saved.rates) state.set_rate(domain, each.scope, each.id, each.rate);
  for (FlowTemplate& each : saved.templates) state.define(domain, std::move(each));
  if (saved.proven) state.prove(domain);
}

}  // namespace

std::vector<std::byte> save_state(const ExporterState& state) {
  ByteWriter body;
  std::uint32_t domains = 0;
  state.each_domain([&](const Domain& domain) { domains += keeps_anything(domain); });
  body.number(domains);
  state.each_domain([&](const Domain& domain) {
    if (keeps_anything(domain)) write_domain(domain, body);
  });
  const std::vector<std::byte> bytes = body.take();
  ByteWriter out;
  out.numbers(std::span<const char>(kMagic));
  out.number(kVersion);
  out.number(std::uint64_t(bytes.size()));
  out.number(crc64(bytes));
  out.numbers(std::span(reinterpret_cast<const std::uint8_t*>(bytes.data()), bytes.size()));
  return out.take();
}

tl::expected<void, std::string> restore_state(std::span<const std::byte> bytes,
                                              ExporterState& state) {
  ByteReader in(bytes);
  std::array<char, sizeof kMagic> magic{};
  in.numbers(std::span<char>(magic));
  if (in.failed() || !std::equal(magic.begin(), magic.end(), kMagic))
    return tl::unexpected<std::string>("not the templates of a flow decoder");
  if (in.number<std::uint32_t>() != kVersion)
    return tl::unexpected<std::string>("templates saved by another version");
  const std::uint64_t length = in.number<std::uint64_t>(), checksum = in.number<std::uint64_t>();
  if (in.failed() || length != in.rest().size() || checksum != crc64(in.rest()))
    return tl::unexpected<std::string>("templates are damaged");
  std::vector<SavedDomain> domains;
  const std::uint32_t count = in.number<std::uint32_t>();
  for (std::uint32_t k = 0; k < count; ++k)
    if (!read_domain(in, state.limits(), domains.emplace_back()))
      return tl::unexpected<std::string>("templates make no sense");
  if (!in.finished()) return tl::unexpected<std::string>("templates make no sense");
  for (SavedDomain& each : domains) add(each, state);
  return {};
}

}  // namespace outlierd::ingest
