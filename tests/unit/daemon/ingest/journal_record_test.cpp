#include "daemon/ingest/journal_record.h"

#include <gtest/gtest.h>

#include <cmath>

namespace outlierd::ingest {
namespace {

constexpr double kNone = MatrixPart::kNotObserved;

Network network(std::vector<std::string> nodes) {
  return {.name = "n", .nodes = std::move(nodes), .metrics = {"bytes", "packets"}};
}
NetworkDirectory directory(Network known) {
  NetworkDirectory networks;
  const std::string name = known.name;
  networks.emplace(name, KnownNetwork(std::move(known)));
  return networks;
}
MatrixPart part(std::vector<double> values) {
  MatrixPart made;
  made.time = 600;
  made.metric = 1;
  made.source = "c1";
  made.sequence = 9;
  made.complete = true;
  made.values = std::move(values);
  return made;
}
void expect_values(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    EXPECT_TRUE(found[k] == expected[k] || (std::isnan(found[k]) && std::isnan(expected[k]))) << k;
}

TEST(JournalRecord, APartComesBackAsItWas) {
  // One value a float cannot hold, and then only such as it can.
  for (double odd : {0.1, 0.5}) {
    const auto bytes = encode_part(network({"A", "B"}), 1234, part({odd, kNone, 0, 4}));
    const auto record = decode_record(bytes, directory(network({"A", "B"})));
    ASSERT_TRUE(record);
    const auto& read = std::get<PartRecord>(*record);
    EXPECT_EQ(read.network, "n");
    EXPECT_EQ(read.received, 1234);
    EXPECT_EQ(read.part.time, 600);
    EXPECT_EQ(read.part.metric, 1);
    EXPECT_EQ(read.part.source, "c1");
    EXPECT_EQ(read.part.sequence, 9u);
    EXPECT_TRUE(read.part.complete);
    EXPECT_FALSE(read.part.sparse);
    expect_values(read.part.values, {odd, kNone, 0, 4});
  }
}

TEST(JournalRecord, ASparsePartComesBackAsItWas) {
  MatrixPart sparse = part({7, kNone});
  sparse.sparse = sparse.rest_is_zero = true;
  sparse.pairs = {2, 1};
  sparse.sequence.reset();
  const auto record =
      decode_record(encode_part(network({"A", "B"}), 1, sparse), directory(network({"A", "B"})));
  ASSERT_TRUE(record);
  const MatrixPart& read = std::get<PartRecord>(*record).part;
  EXPECT_TRUE(read.sparse && read.rest_is_zero);
  EXPECT_EQ(read.sequence, std::nullopt);
  EXPECT_EQ(read.pairs, (std::vector<std::uint32_t>{2, 1}));
  expect_values(read.values, {7, kNone});
}

TEST(JournalRecord, NodesThatCameWentOrMovedKeepWhatIsTheirs) {
  const auto bytes = encode_part(network({"A", "B", "C"}), 1, part({1, 2, 3, 4, 5, 6, 7, 8, 9}));
  const auto record = decode_record(bytes, directory(network({"C", "X", "A"})));
  ASSERT_TRUE(record);
  expect_values(std::get<PartRecord>(*record).part.values,
                {9, kNone, 7, kNone, kNone, kNone, 3, kNone, 1});
}

TEST(JournalRecord, ACloseComesBackAsItWas) {
  const auto record = decode_record(encode_close("n", 900), directory(network({"A", "B"})));
  ASSERT_TRUE(record);
  EXPECT_EQ(std::get<CloseRecord>(*record).network, "n");
  EXPECT_EQ(std::get<CloseRecord>(*record).time, 900);
}

TEST(JournalRecord, WhatIsNotWatchedAnyMoreIsLeftOut) {
  Network other = network({"A", "B"});
  other.name = "other";
  EXPECT_FALSE(decode_record(encode_close("n", 900), directory(other)));
  Network bytes_only = network({"A", "B"});
  bytes_only.metrics = {"bytes"};
  EXPECT_FALSE(decode_record(encode_part(network({"A", "B"}), 1, part({1, 2, 3, 4})),
                             directory(bytes_only)));
}

TEST(JournalRecord, AnyBytesGiveAnAnswer) {
  MatrixPart sparse = part({7, 8});
  sparse.sparse = true;
  sparse.pairs = {2, 1};
  const NetworkDirectory networks = directory(network({"A", "B"}));
  for (const auto& bytes : {encode_part(network({"A", "B"}), 1, part({1, 2, 3, 4})),
                            encode_part(network({"A", "B"}), 1, sparse)}) {
    for (std::size_t size = 0; size < bytes.size(); ++size)
      EXPECT_FALSE(decode_record(std::span(bytes).first(size), networks)) << size;
    for (std::size_t at = 0; at < bytes.size(); ++at)
      for (int bit = 0; bit < 8; ++bit) {
        auto flipped = bytes;
        flipped[at] ^= std::byte(1 << bit);
        const auto record = decode_record(flipped, networks);
        if (!record || !std::holds_alternative<PartRecord>(*record)) continue;
        // What is accepted is safe to add up.
        const MatrixPart& read = std::get<PartRecord>(*record).part;
        EXPECT_EQ(read.values.size(), read.sparse ? read.pairs.size() : 4u);
        for (auto pair : read.pairs) EXPECT_LT(pair, 4u);
      }
  }
}

TEST(JournalRecord, TheAssemblersMemoryComesBackAsItWas) {
  BinAssembler::Memory memory{900, {{300, 7, 8, 0}, {600, 1, 2, 1}}};
  const auto bytes = encode_memory(memory);
  const auto read = decode_memory(bytes);
  ASSERT_TRUE(read);
  EXPECT_EQ(read->closed_through, memory.closed_through);
  EXPECT_EQ(read->closed_parts, memory.closed_parts);
  for (std::size_t size = 0; size < bytes.size(); ++size)
    EXPECT_FALSE(decode_memory(std::span(bytes).first(size)));
}

}  // namespace
}  // namespace outlierd::ingest
