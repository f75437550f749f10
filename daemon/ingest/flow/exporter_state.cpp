#include "daemon/ingest/flow/exporter_state.h"

#include <algorithm>
#include <cstring>

namespace outlierd::ingest {
namespace {

constexpr std::size_t kDomainMemory = sizeof(Domain) + 160;  // with its places in index and order
constexpr std::size_t kRateMemory = 48;

std::uint64_t mixed(std::uint64_t value) {
  value = (value ^ value >> 32) * 0x9E3779B97F4A7C15ull;
  value = (value ^ value >> 29) * 0xBF58476D1CE4E5B9ull;
  return value ^ value >> 32;
}

std::uint64_t rate_key(RateScope scope, std::uint64_t id) {
  return std::uint64_t(scope) << 63 | (id & ~(std::uint64_t{1} << 63));
}

auto place_of(const std::vector<std::unique_ptr<FlowTemplate>>& templates, std::uint16_t id) {
  return std::lower_bound(templates.begin(), templates.end(), id,
                          [](const auto& each, std::uint16_t wanted) { return each->id < wanted; });
}

}  // namespace

std::size_t ExporterState::Hash::operator()(const DomainKey& key) const {
  std::uint64_t halves[2];
  std::memcpy(halves, key.exporter.bytes.data(), sizeof halves);
  std::uint64_t value = mixed(seed ^ halves[0]);
  value = mixed(value ^ halves[1]);
  return mixed(value ^ (std::uint64_t(key.domain) << 16 | std::uint64_t(key.exporter.family) << 8 |
                        std::uint64_t(key.protocol)));
}

FlowTemplate* Domain::find_template(std::uint16_t id) {
  const auto at = place_of(templates_, id);
  return at != templates_.end() && (*at)->id == id ? at->get() : nullptr;
}

std::uint32_t Domain::rate_of(RateScope scope, std::uint64_t id) const {
  if (rates_.empty()) return 0;
  const auto at = rates_.find(rate_key(scope, id));
  return at == rates_.end() ? 0 : at->second;
}

std::uint32_t Domain::common_rate() {
  if (default_rate != 0) return default_rate;
  if (rates_changed_) {
    shared_rate_ = rates_.begin()->second;
    for (const auto& [key, rate] : rates_)
      if (rate != shared_rate_) shared_rate_ = 0;
    rates_changed_ = false;
  }
  return shared_rate_;
}

// Who sends can choose exporters and domains, but not where this object lies.
ExporterState::ExporterState(const FlowDecoderLimits& limits)
    : limits_(limits), index_(16, Hash{mixed(reinterpret_cast<std::uintptr_t>(this))}) {}

Domain* ExporterState::find(const DomainKey& key) {
  if (latest_ && latest_->key_ == key) return latest_;
  const auto at = index_.find(key);
  return at == index_.end() ? nullptr : at->second;
}

Domain& ExporterState::domain(const DomainKey& key) {
  ++tick_;
  Domain* known = find(key);
  if (!known) {
    unproven_.push_front(std::make_unique<Domain>(key));
    known = unproven_.front().get();
    known->place_ = unproven_.begin();
    index_.emplace(key, known);
    add_memory(*known, kDomainMemory);
    make_room(known);
  } else if (known != latest_) {
    Order& order = known->proven_ ? proven_ : unproven_;
    order.splice(order.begin(), order, known->place_);
  }
  latest_ = known;
  return *known;
}

void ExporterState::prove(Domain& domain) {
  if (domain.proven_) return;
  domain.proven_ = true;
  proven_.splice(proven_.begin(), unproven_, domain.place_);
}

bool ExporterState::define(Domain& domain, FlowTemplate&& made) {
  if (FlowTemplate* old = domain.find_template(made.id))
    if (old->options == made.options && old->scope_fields == made.scope_fields &&
        old->fields == made.fields) {
      old->last_used = tick_;
      return true;
    }
  if (!made.compile()) return false;
  made.last_used = tick_;
  made.fields.shrink_to_fit();
  made.operations.shrink_to_fit();
  const std::uint16_t id = made.id;
  withdraw(domain, id);
  auto& templates = domain.templates_;
  if (templates.size() >= limits_.templates_per_domain) {
    remove_template(domain, oldest_of_some(domain));
    ++counts_.templates_evicted;
  }
  const auto at =
      templates.insert(place_of(templates, id), std::make_unique<FlowTemplate>(std::move(made)));
  ++counts_.templates;
  add_memory(domain, (*at)->memory());
  make_room(&domain);
  return true;
}

// Of a few neighbours, going round: as good as the oldest of all, at a cost that does not grow.
std::size_t ExporterState::oldest_of_some(Domain& domain) {
  const auto& templates = domain.templates_;
  std::size_t oldest = domain.hand_ % templates.size();
  for (std::size_t k = 0; k < std::min<std::size_t>(16, templates.size()); ++k) {
    const std::size_t at = domain.hand_++ % templates.size();
    if (templates[at]->last_used < templates[oldest]->last_used) oldest = at;
  }
  return oldest;
}

std::uint32_t ExporterState::withdraw(Domain& domain, std::uint16_t id) {
  auto& templates = domain.templates_;
  if (id > 3) {
    const auto at = place_of(templates, id);
    if (at == templates.end() || (*at)->id != id) return 0;
    remove_template(domain, std::size_t(at - templates.begin()));
    return 1;
  }
  std::uint32_t removed = 0;
  for (std::size_t k = templates.size(); k-- > 0;) {
    const FlowTemplate& each = *templates[k];
    if (each.options != (id == 3)) continue;
    remove_template(domain, k);
    ++removed;
  }
  return removed;
}

void ExporterState::remove_template(Domain& domain, std::size_t at) {
  const std::size_t bytes = domain.templates_[at]->memory();
  domain.memory_ -= bytes;
  counts_.state_bytes -= bytes;
  --counts_.templates;
  domain.templates_.erase(domain.templates_.begin() + std::ptrdiff_t(at));
}

void ExporterState::set_rate(Domain& domain, RateScope scope, std::uint64_t id,
                             std::uint32_t rate) {
  const std::uint64_t key = rate_key(scope, id);
  const auto at = domain.rates_.find(key);
  if (at != domain.rates_.end() && at->second == rate) return;
  if (at == domain.rates_.end()) {
    if (domain.rates_.size() >= limits_.sampling_rates_per_domain) return;
    domain.rates_.emplace(key, rate);
    add_memory(domain, kRateMemory);
  } else {
    at->second = rate;
  }
  if (scope == RateScope::kInterface) domain.has_interface_rates_ = true;
  domain.rates_changed_ = true;
  make_room(&domain);
}

void ExporterState::add_memory(Domain& domain, std::size_t bytes) {
  domain.memory_ += bytes;
  counts_.state_bytes += bytes;
}

void ExporterState::make_room(const Domain* keep) {
  while (index_.size() > limits_.domains || counts_.state_bytes > limits_.state_bytes)
    if (!evict_one(keep)) return;
}

bool ExporterState::evict_one(const Domain* keep) {
  for (Order* order : {&unproven_, &proven_}) {
    if (order->empty()) continue;
    auto last = std::prev(order->end());
    if (last->get() == keep) {
      if (last == order->begin()) continue;
      --last;
    }
    Domain& gone = **last;
    counts_.state_bytes -= gone.memory_;
    counts_.templates -= gone.templates_.size();
    counts_.templates_evicted += gone.templates_.size();
    ++counts_.domains_evicted;
    if (latest_ == &gone) latest_ = nullptr;
    index_.erase(gone.key_);
    order->erase(last);
    return true;
  }
  return false;
}

FlowDecoderCounts ExporterState::counts() const {
  FlowDecoderCounts now = counts_;
  now.domains = index_.size();
  return now;
}

}  // namespace outlierd::ingest
