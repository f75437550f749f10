#include "core/traffic/talkers.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "core/traffic/address_text.h"

namespace outlierd {
namespace {

std::string protocol_text(std::uint8_t protocol) {
  switch (protocol) {
    case 1:
      return "icmp";
    case 6:
      return "tcp";
    case 17:
      return "udp";
    case 47:
      return "gre";
    case 50:
      return "esp";
    case 58:
      return "icmp6";
    default:
      return std::to_string(protocol);
  }
}

// The network that an address most likely belongs to.
std::string source_network(const IpAddress& address) {
  return prefix_text(address, address.family == 6 ? 48 : 24);
}
std::string host(const IpAddress& address) {
  return prefix_text(address, address.family == 6 ? 128 : 32);
}
std::string as_text(std::uint32_t number) {
  return number == 0 ? std::string() : "AS" + std::to_string(number);
}

struct Dimension {
  const char* name;
  std::string (*value)(const Talker&);  // empty: not given
};
constexpr std::array kDimensions = {
    Dimension{"source_prefix", [](const Talker& one) { return source_network(one.source); }},
    Dimension{"destination_prefix", [](const Talker& one) { return host(one.destination); }},
    Dimension{"source_port", [](const Talker& one) { return std::to_string(one.source_port); }},
    Dimension{"destination_port",
              [](const Talker& one) { return std::to_string(one.destination_port); }},
    Dimension{"protocol", [](const Talker& one) { return protocol_text(one.protocol); }},
    Dimension{"source_as", [](const Talker& one) { return as_text(one.source_as); }},
    Dimension{"destination_as", [](const Talker& one) { return as_text(one.destination_as); }}};

bool asked(const Talker& one, const std::vector<bool>& pairs) {
  return one.pair < pairs.size() && pairs[one.pair];
}

double bytes_of(std::span<const Talker> talkers, const std::vector<bool>& pairs) {
  double bytes = 0.0;
  for (const Talker& one : talkers)
    if (asked(one, pairs)) bytes += one.bytes;
  return bytes;
}

std::map<std::string, double> sums(std::span<const Talker> talkers, const std::vector<bool>& pairs,
                                   const Dimension& dimension) {
  std::map<std::string, double> bytes;
  for (const Talker& one : talkers) {
    if (!asked(one, pairs)) continue;
    if (std::string value = dimension.value(one); !value.empty())
      bytes[std::move(value)] += one.bytes;
  }
  return bytes;
}

}  // namespace

void TalkerSampler::take(const FlowRecord& record, std::uint32_t pair, EpochSeconds bin) {
  const double times = std::floor(passed_ / step_);
  passed_ -= times * step_;
  talkers_.push_back({bin, pair, times * step_, record.source, record.destination,
                      record.source_port, record.destination_port, record.source_as,
                      record.destination_as, record.protocol});
  if (talkers_.size() < most_) return;
  thin(talkers_, most_ / 2);
  step_ *= 2.0;
}

std::vector<Talker> TalkerSampler::take() {
  if (talkers_.size() < most_ / 8 && step_ > 1.0) step_ /= 2.0;
  return std::exchange(talkers_, {});
}

void thin(std::vector<Talker>& talkers, std::size_t most) {
  if (talkers.size() <= most || most == 0) return;
  double total = 0.0;
  for (const Talker& one : talkers) total += one.bytes;
  const double step = total / double(most);
  double passed = step / 2.0;
  std::size_t kept = 0;
  for (const Talker& one : talkers) {
    passed += one.bytes;
    const double times = std::floor(passed / step);
    if (times < 1.0) continue;
    passed -= times * step;
    talkers[kept] = one;
    talkers[kept++].bytes = times * step;
  }
  talkers.resize(kept);
}

Behind behind(std::span<const Talker> now, std::span<const Talker> before,
              const std::vector<bool>& pairs, std::size_t most_each) {
  Behind out;
  const double all = bytes_of(now, pairs), earlier = bytes_of(before, pairs);
  for (const Talker& one : now) {
    if (!asked(one, pairs)) continue;
    ++out.samples;
    out.time = one.bin;
  }
  if (all <= 0.0) return out;
  for (const Dimension& dimension : kDimensions) {
    TalkerDimension found{dimension.name, {}};
    const auto usual = sums(before, pairs, dimension);
    for (const auto& [what, bytes] : sums(now, pairs, dimension)) {
      const auto known = usual.find(what);
      const double share = known == usual.end() ? 0.0 : known->second / earlier;
      found.top.push_back({what, bytes, bytes / all, earlier > 0.0 ? share : -1.0});
    }
    std::sort(found.top.begin(), found.top.end(), [](const auto& a, const auto& b) {
      return a.bytes != b.bytes ? a.bytes > b.bytes : a.what < b.what;
    });
    if (found.top.size() > most_each) found.top.resize(most_each);
    if (!found.top.empty()) out.dimensions.push_back(std::move(found));
  }
  return out;
}

}  // namespace outlierd
