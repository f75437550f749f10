#include "daemon/ingest/flow/flow_decoder.h"

#include "daemon/ingest/flow/big_endian.h"
#include "daemon/ingest/flow/decoder_snapshot.h"
#include "daemon/ingest/flow/netflow5.h"
#include "daemon/ingest/flow/sflow.h"
#include "daemon/ingest/flow/template_sets.h"

namespace outlierd::ingest {
namespace {

constexpr std::size_t kNetflow9Header = 20, kIpfixHeader = 16;
constexpr std::int32_t kUptimeBackwards = 60000;  // milliseconds: more is no datagram overtaken

// What the sequence number and the uptime say, into the batch.
void note_loss(Domain& domain, std::uint32_t records, bool whole, SequenceUnit unit,
               FlowBatch& out) {
  bool began_anew = false;
  if (out.has_uptime) {
    began_anew =
        domain.has_last_uptime && std::int32_t(out.uptime - domain.last_uptime) < -kUptimeBackwards;
    domain.last_uptime = out.uptime;
    domain.has_last_uptime = true;
  }
  const SequenceGap gap = domain.sequence.observe(out.sequence, records, whole, unit, began_anew);
  out.lost = out.lost_records = gap.lost;
  if (gap.unit == SequenceUnit::kDatagrams && gap.lost > 0)
    out.lost_records = domain.datagrams > 0 ? gap.lost * domain.records / domain.datagrams : 0;
  out.reordered = gap.reordered;
  if (gap.reordered)
    out.found_records = gap.unit == SequenceUnit::kRecords ? records : out.records.size();
  out.restarted = gap.restarted;
  ++domain.datagrams;
  domain.records += out.records.size();
}

}  // namespace

struct FlowDecoder::State {
  explicit State(const FlowDecoderLimits& limits) : exporters(limits) {}

  ExporterState exporters;
  FieldPlaces places;

  Domain& domain_of(const FlowBatch& out) {
    return exporters.domain(
        {out.agent.family ? out.agent : out.exporter, out.domain, out.protocol});
  }

  // Either unit that records are counted in by v5 and sFlow, which need no templates.
  void finish(Domain& domain, std::uint32_t records, bool whole, SequenceUnit unit,
              FlowBatch& out) {
    note_loss(domain, records, whole, unit, out);
    if (!out.records.empty()) exporters.prove(domain);
  }

  void decode_netflow5(std::span<const std::byte> datagram, FlowBatch& out) {
    out.protocol = FlowProtocol::kNetflow5;
    if (ingest::decode_netflow5(datagram, out) != FlowRefusal::kNone) return;
    finish(domain_of(out), std::uint32_t(out.records.size()), true, SequenceUnit::kRecords, out);
  }

  void decode_sflow(std::span<const std::byte> datagram, FlowBatch& out) {
    out.protocol = FlowProtocol::kSflow5;
    if (ingest::decode_sflow(datagram, out) == FlowRefusal::kTooShort) return;
    finish(domain_of(out), std::uint32_t(out.records.size()), true, SequenceUnit::kDatagrams, out);
  }

  void decode_netflow9(std::span<const std::byte> datagram, FlowBatch& out) {
    out.protocol = FlowProtocol::kNetflow9;
    if (datagram.size() < kNetflow9Header) {
      out.refusal = FlowRefusal::kTooShort;
      return;
    }
    const std::byte* header = datagram.data();
    out.uptime = load32(header + 4);
    out.has_uptime = true;
    out.export_time = std::int64_t(load32(header + 8)) * 1000;
    out.sequence = load32(header + 12);
    out.domain = load32(header + 16);
    decode_sets(datagram.subspan(kNetflow9Header), SequenceUnit::kEither, out);
  }

  void decode_ipfix(std::span<const std::byte> datagram, FlowBatch& out) {
    out.protocol = FlowProtocol::kIpfix;
    if (datagram.size() < kIpfixHeader) {
      out.refusal = FlowRefusal::kTooShort;
      return;
    }
    const std::byte* header = datagram.data();
    const std::size_t length = load16(header + 2);
    out.export_time = std::int64_t(load32(header + 4)) * 1000;
    out.sequence = load32(header + 8);
    out.domain = load32(header + 12);
    if (length < kIpfixHeader || length > datagram.size()) {
      out.refusal = FlowRefusal::kBadLength;
      return;
    }
    decode_sets(datagram.first(length).subspan(kIpfixHeader), SequenceUnit::kRecords, out);
  }

  void decode_sets(std::span<const std::byte> sets, SequenceUnit unit, FlowBatch& out) {
    out.has_sequence = true;
    Domain& domain = domain_of(out);
    const ExporterTime time{out.export_time, out.uptime, out.has_uptime};
    const MessageTotals totals = TemplateSets(exporters, places, domain, time, out).decode(sets);
    finish(domain, totals.data_records, totals.whole, unit, out);
    // Last, for the exporter's own entry may take the place of another.
    if (const std::uint32_t rate = domain.latest_rate) {
      domain.latest_rate = 0;
      Domain& exporter = exporters.domain(whole_exporter(domain.key().exporter));
      exporter.default_rate = rate;
      exporters.prove(exporter);
    }
  }
};

FlowDecoder::FlowDecoder(const FlowDecoderLimits& limits)
    : state_(std::make_unique<State>(limits)) {}
FlowDecoder::~FlowDecoder() = default;
FlowDecoder::FlowDecoder(FlowDecoder&&) noexcept = default;
FlowDecoder& FlowDecoder::operator=(FlowDecoder&&) noexcept = default;

FlowRefusal FlowDecoder::decode(const IpAddress& exporter, std::span<const std::byte> datagram,
                                FlowBatch& out) {
  out.clear();
  out.exporter = exporter;
  if (datagram.size() < 4) return out.refusal = FlowRefusal::kTooShort;
  switch (load16(datagram.data())) {
    case 5:
      state_->decode_netflow5(datagram, out);
      break;
    case 9:
      state_->decode_netflow9(datagram, out);
      break;
    case 10:
      state_->decode_ipfix(datagram, out);
      break;
    case 0:
      if (load32(datagram.data()) == 5) {
        state_->decode_sflow(datagram, out);
        break;
      }
      [[fallthrough]];
    default:
      out.refusal = FlowRefusal::kUnknownVersion;
  }
  return out.refusal;
}

std::size_t FlowDecoder::datagram_length(std::span<const std::byte> bytes) {
  if (bytes.size() < kIpfixHeader) return bytes.size();
  const std::uint16_t version = load16(bytes.data()), second = load16(bytes.data() + 2);
  std::size_t length = bytes.size();
  if (version == 5) length = kNetflow5Header + second * kNetflow5Record;
  if (version == 10 && second >= kIpfixHeader) length = second;
  if (version == 9) {
    // No length is sent. Set numbers 2 to 255 are never used: such a one is the next version.
    for (length = kNetflow9Header; length + 4 <= bytes.size();) {
      const std::uint16_t id = load16(bytes.data() + length);
      const std::size_t set = load16(bytes.data() + length + 2);
      if (id == 9) return length;
      if (set < 4) return bytes.size();
      length += set;
    }
    return bytes.size();
  }
  return std::min(length, bytes.size());
}

FlowDecoderCounts FlowDecoder::counts() const { return state_->exporters.counts(); }

std::vector<std::byte> FlowDecoder::save() const { return save_state(state_->exporters); }

tl::expected<void, std::string> FlowDecoder::restore(std::span<const std::byte> bytes) {
  return restore_state(bytes, state_->exporters);
}

}  // namespace outlierd::ingest
