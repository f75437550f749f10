#pragma once
// What is remembered of exporters: per exporter, observation domain and protocol the templates, the
// sampling rates and where the sequence numbers stand. Bounded in number and bytes. When it is full
// the least recently used domain goes, and those that never gave a flow record go first, so that
// spoofed exporters drive out each other and not the real ones.

#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/traffic/flow_record.h"
#include "daemon/ingest/flow/flow_decoder.h"
#include "daemon/ingest/flow/flow_template.h"
#include "daemon/ingest/flow/sequence.h"

namespace outlierd::ingest {

struct DomainKey {
  IpAddress exporter;
  std::uint32_t domain = 0;
  FlowProtocol protocol = FlowProtocol::kUnknown;  // unknown: what holds for all of the exporter

  bool operator==(const DomainKey&) const = default;
};

// A rate may be said for a sampler (or selector), for an input interface, or for everything.
enum class RateScope : std::uint8_t { kSampler, kInterface };

class Domain {
 public:
  explicit Domain(const DomainKey& key) : key_(key) {}

  const DomainKey& key() const { return key_; }
  FlowTemplate* find_template(std::uint16_t id);
  const std::vector<std::unique_ptr<FlowTemplate>>& templates() const { return templates_; }

  std::uint32_t rate_of(RateScope scope, std::uint64_t id) const;  // 0: not said
  bool has_interface_rates() const { return has_interface_rates_; }
  // Of records that name no sampler: what was said for everything, else what all samplers share.
  std::uint32_t common_rate();
  std::uint32_t default_rate = 0;
  std::uint32_t latest_rate = 0;   // said for anything, not yet noted for the whole exporter
  std::int64_t system_start = -1;  // element 160 of an options record

  SequenceTracker sequence;
  std::uint32_t last_uptime = 0;
  bool has_last_uptime = false;
  std::uint64_t datagrams = 0, records = 0;  // for the average

 private:
  friend class ExporterState;
  DomainKey key_;
  std::vector<std::unique_ptr<FlowTemplate>> templates_;  // by id
  std::unordered_map<std::uint64_t, std::uint32_t> rates_;
  bool has_interface_rates_ = false;
  std::uint32_t shared_rate_ = 0;  // of all samplers, if they agree
  bool rates_changed_ = false;     // shared_rate_ must be found again
  std::size_t hand_ = 0;           // where the search for an old template goes on
  std::size_t memory_ = 0;
  bool proven_ = false;
  std::list<std::unique_ptr<Domain>>::iterator place_;
};

class ExporterState {
 public:
  explicit ExporterState(const FlowDecoderLimits& limits);

  // The domain, made if it is new. Valid until the next call; those that add to a domain never
  // remove that domain.
  Domain& domain(const DomainKey& key);
  Domain* find(const DomainKey& key);
  void prove(Domain& domain);  // it gave a flow record

  // Takes a template that compiles; returns false, changing nothing, if it does not.
  bool define(Domain& domain, FlowTemplate&& made);
  // How many there were: all of one kind for id 2 (templates) and 3 (options templates).
  std::uint32_t withdraw(Domain& domain, std::uint16_t id);
  void use(FlowTemplate& made) const { made.last_used = tick_; }
  void set_rate(Domain& domain, RateScope scope, std::uint64_t id, std::uint32_t rate);

  const FlowDecoderLimits& limits() const { return limits_; }
  FlowDecoderCounts counts() const;
  // Calls visit(const Domain&), the least recently used first.
  template <class Visit>
  void each_domain(const Visit& visit) const {
    for (const auto* order : {&unproven_, &proven_})
      for (auto at = order->rbegin(); at != order->rend(); ++at) visit(**at);
  }
  template <class Visit>
  static void each_rate(const Domain& domain, const Visit& visit) {
    for (const auto& [key, rate] : domain.rates_)
      visit(RateScope(key >> 63), key & ~(std::uint64_t{1} << 63), rate);
  }
  static bool proven(const Domain& domain) { return domain.proven_; }

 private:
  struct Hash {
    std::uint64_t seed;
    std::size_t operator()(const DomainKey& key) const;
  };
  using Order = std::list<std::unique_ptr<Domain>>;

  void add_memory(Domain& domain, std::size_t bytes);
  static std::size_t oldest_of_some(Domain& domain);
  void remove_template(Domain& domain, std::size_t at);
  void make_room(const Domain* keep);
  bool evict_one(const Domain* keep);

  FlowDecoderLimits limits_;
  FlowDecoderCounts counts_;
  Order unproven_, proven_;  // most recently used first
  std::unordered_map<DomainKey, Domain*, Hash> index_;
  Domain* latest_ = nullptr;
  std::uint64_t tick_ = 0;
};

}  // namespace outlierd::ingest
