#include "core/traffic/node_map.h"

#include <gtest/gtest.h>

#include "core/traffic/address_text.h"
#include "tests/support/flows.h"
#include "tests/support/random.h"

namespace outlierd {
namespace {

using test::flow;
using test::four;
using test::Random;
using test::six;

bool holds(const PrefixValue& prefix, const IpAddress& address) {
  if (prefix.prefix.family != address.family) return false;
  for (int bit = 0; bit < prefix.length; ++bit) {
    const auto byte = std::size_t(bit / 8);
    if ((prefix.prefix.bytes[byte] ^ address.bytes[byte]) >> (7 - bit % 8) & 1) return false;
  }
  return true;
}

// Every prefix, one after the other; of the longest the last.
std::uint32_t by_hand(const std::vector<PrefixValue>& prefixes, const IpAddress& address) {
  std::uint32_t value = PrefixMap::kNone;
  int longest = -1;
  for (const PrefixValue& one : prefixes)
    if (one.length >= longest && holds(one, address)) {
      longest = one.length;
      value = one.value;
    }
  return value;
}

// Addresses crowd in a few networks, so that prefixes lie inside each other.
IpAddress crowded(Random& random, bool v6) {
  std::uint64_t bits = std::uint64_t(random.index(4)) << 62;
  for (int k = 0; k < 12; ++k) bits |= std::uint64_t(random.index(3) == 0) << random.index(62);
  if (!v6) return four(std::uint32_t(bits >> 32));
  return six(bits, random.chance(0.5) ? 0 : std::uint64_t(random.index(1 << 20)) << 44);
}

TEST(PrefixMap, FindsWhatTryingEveryPrefixFinds) {
  for (int seed = 1; seed <= 60; ++seed) {
    Random random(std::uint64_t(seed) * 77);
    std::vector<PrefixValue> prefixes;
    const int count = random.index(120);
    const int families = random.index(3);  // IPv4, IPv6, both
    for (int k = 0; k < count; ++k) {
      const bool v6 = families == 1 || (families == 2 && random.chance(0.5));
      const int length = random.index(v6 ? 129 : 33);
      prefixes.push_back(
          {crowded(random, v6), std::uint8_t(length), std::uint32_t(random.index(9))});
    }
    const PrefixMap map(prefixes);
    std::vector<IpAddress> asked;
    for (int k = 0; k < 100; ++k) asked.push_back(crowded(random, random.chance(0.5)));
    for (const PrefixValue& one : prefixes) asked.push_back(one.prefix);
    asked.push_back({});
    for (std::size_t begin = 0; begin < asked.size(); begin += PrefixMap::kBatch) {
      std::uint32_t found[PrefixMap::kBatch];
      const std::size_t batch = std::min(PrefixMap::kBatch, asked.size() - begin);
      map.find_all(
          batch, [&](std::size_t k) -> const IpAddress& { return asked[begin + k]; }, found);
      for (std::size_t k = 0; k < batch; ++k) {
        const IpAddress& address = asked[begin + k];
        ASSERT_EQ(found[k], by_hand(prefixes, address)) << seed << ' ' << address_text(address);
        ASSERT_EQ(map.find(address), found[k]);
      }
    }
  }
}

// From none to all of a chunk's slots, with and without longer prefixes below them: up to twenty
// changes of the value lie in one cache line, more do not.
TEST(PrefixMap, FindsEveryAddressOfANetworkThatIsCutIntoFewPiecesOrMany) {
  for (int seed = 1; seed <= 80; ++seed) {
    Random random(std::uint64_t(seed) * 31);
    const int pieces = seed <= 40 ? seed / 2 : random.index(300);
    std::vector<PrefixValue> prefixes;
    if (random.chance(0.5)) prefixes.push_back({four(10, 1, 0, 0), 16, 0x7ffe});
    for (int k = 0; k < pieces; ++k) {
      const bool longer = random.chance(0.2);
      prefixes.push_back({four(10, 1, random.index(256), longer ? random.index(256) : 0),
                          std::uint8_t(longer ? 25 + random.index(8) : 17 + random.index(8)),
                          std::uint32_t(random.index(0x7fff))});
    }
    const PrefixMap map(prefixes);
    for (int third = 0; third < 256; ++third)
      for (int last : {0, 1, random.index(256), 255}) {
        const IpAddress address = four(10, 1, third, last);
        ASSERT_EQ(map.find(address), by_hand(prefixes, address))
            << seed << ' ' << address_text(address);
      }
  }
}

TEST(PrefixMap, HalfAMillionPrefixesTakeAFewMegabytes) {
  Random random(5);
  std::vector<PrefixValue> prefixes;
  for (int k = 0; k < 500'000; ++k)
    prefixes.push_back({four(std::uint32_t(random.uniform() * 4294967296.0)),
                        std::uint8_t(16 + random.index(9)), std::uint32_t(random.index(1000))});
  const PrefixMap map(prefixes);
  EXPECT_LT(map.bytes(), 16u << 20);
  for (int k = 0; k < 20; ++k) {
    const IpAddress address = prefixes[std::size_t(random.index(500'000))].prefix;
    EXPECT_EQ(map.find(address), by_hand(prefixes, address));
  }
}

NodeRules rules() {
  NodeRules rules;
  rules.prefixes = {
      {four(10, 0, 0, 0), 8, 0}, {four(10, 1, 0, 0), 16, 1}, {four(10, 1, 2, 0), 24, 2}};
  rules.exporters = {
      {four(192, 0, 2, 1), {}, 3}, {four(192, 0, 2, 1), 7, 4}, {four(192, 0, 2, 2), 9, 5}};
  rules.next_hops = {{four(203, 0, 113, 1), 32, 6}};
  return rules;
}

std::pair<std::uint32_t, std::uint32_t> mapped(const FlowRecord& record,
                                               const IpAddress& exporter) {
  const NodeMap map(rules());
  std::uint32_t origin = 0, destination = 0;
  map.map({&record, 1}, map.rule_of(exporter), &origin, &destination);
  return {origin, destination};
}

constexpr std::uint32_t kNo = NodeMap::kUnmapped;
using Nodes = std::pair<std::uint32_t, std::uint32_t>;

TEST(NodeMap, TheLongestPrefixSaysWhereAFlowEntersAndLeaves) {
  const IpAddress stranger = four(198, 51, 100, 9);
  EXPECT_EQ(mapped(flow(four(10, 1, 2, 3), four(10, 1, 9, 9), 0, 0), stranger), (Nodes{2, 1}));
  EXPECT_EQ(mapped(flow(four(10, 200, 2, 3), four(11, 0, 0, 1), 0, 0), stranger), (Nodes{0, kNo}));
}

TEST(NodeMap, AnInterfaceComesBeforeItsExporterAndThatBeforeThePrefix) {
  FlowRecord record = flow(four(10, 1, 2, 3), four(10, 0, 0, 1), 0, 0);
  EXPECT_EQ(mapped(record, four(192, 0, 2, 1)).first, 3u);
  record.input_interface = 7;
  EXPECT_EQ(mapped(record, four(192, 0, 2, 1)).first, 4u);
  EXPECT_EQ(mapped(record, four(192, 0, 2, 2)).first, 2u);  // of which only interface 9 is known
  record.input_interface = 9;
  EXPECT_EQ(mapped(record, four(192, 0, 2, 2)).first, 5u);
}

TEST(NodeMap, TheNextHopComesBeforeThePrefixAndTheOutputInterfaceLast) {
  FlowRecord record = flow(four(10, 0, 0, 1), four(10, 1, 2, 3), 0, 0);
  record.output_interface = 7;
  EXPECT_EQ(mapped(record, four(192, 0, 2, 1)).second, 2u);
  record.next_hop = four(203, 0, 113, 1);
  EXPECT_EQ(mapped(record, four(192, 0, 2, 1)).second, 6u);
  record.bgp_next_hop = four(203, 0, 113, 99);  // the better word, though nobody's: the prefix
  EXPECT_EQ(mapped(record, four(192, 0, 2, 1)).second, 2u);
  record.bgp_next_hop = four(203, 0, 113, 1);
  EXPECT_EQ(mapped(record, four(192, 0, 2, 1)).second, 6u);
  FlowRecord beyond = flow(four(10, 0, 0, 1), four(99, 0, 0, 1), 0, 0);
  EXPECT_EQ(mapped(beyond, four(192, 0, 2, 1)).second, kNo);
  beyond.output_interface = 7;
  EXPECT_EQ(mapped(beyond, four(192, 0, 2, 1)).second, 4u);
}

TEST(NodeMap, ARecordThatNamesItsExporterIsMappedByThat) {
  FlowRecord record = flow(four(10, 1, 2, 3), four(10, 0, 0, 1), 0, 0);
  record.exporter = four(192, 0, 2, 1);
  EXPECT_EQ(mapped(record, four(198, 51, 100, 9)).first, 3u);
  record.exporter = four(198, 51, 100, 9);
  EXPECT_EQ(mapped(record, four(192, 0, 2, 1)).first, 2u);
}

TEST(AddressText, IsAsRfc5952Says) {
  EXPECT_EQ(address_text(four(192, 0, 2, 1)), "192.0.2.1");
  EXPECT_EQ(address_text(six(0x20010db800000000, 1)), "2001:db8::1");
  EXPECT_EQ(address_text(six(0x20010db800010001, 0x0001000100010001)), "2001:db8:1:1:1:1:1:1");
  EXPECT_EQ(address_text(six(0x20010db800000001, 0x0001000100000001)), "2001:db8:0:1:1:1:0:1");
  EXPECT_EQ(address_text(six(0, 0)), "::");
  EXPECT_EQ(address_text(six(0, 1)), "::1");
  EXPECT_EQ(address_text(six(0x2001000000000000, 0)), "2001::");
  EXPECT_EQ(prefix_text(four(192, 0, 2, 129), 25), "192.0.2.128/25");
  EXPECT_EQ(prefix_text(six(0x20010db8ffff0001, 1), 48), "2001:db8:ffff::/48");
  EXPECT_EQ(address_text({}), "");
}

}  // namespace
}  // namespace outlierd
