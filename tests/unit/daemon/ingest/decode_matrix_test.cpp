#include "daemon/ingest/decode_matrix.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

namespace outlierd::ingest {
namespace {

constexpr double kNone = MatrixPart::kNotObserved;

NetworkDirectory networks() {
  NetworkDirectory directory;
  directory.emplace("abilene",
                    KnownNetwork({.name = "abilene", .nodes = {"ATLA", "CHIN", "DNVR"}}));
  directory.emplace("two", KnownNetwork({.name = "two",
                                         .nodes = {"A", "B"},
                                         .metrics = {"bytes", "packets"},
                                         .bin_seconds = 900}));
  return directory;
}

class DecodeMatrix : public testing::Test {
 protected:
  tl::expected<DecodedPart, Refusal> json(std::string text, std::string_view network = {}) {
    text_ = std::move(text);
    const std::size_t size = text_.size();
    text_.resize(size + MatrixDecoder::kPadding);
    return decoder_.json({text_.data(), size}, network);
  }
  std::string refusal(std::string text, std::string_view network = {}) {
    const auto decoded = json(std::move(text), network);
    return decoded ? "accepted" : decoded.error().message;
  }

  NetworkDirectory networks_ = networks();
  MatrixDecoder decoder_{networks_};
  std::string text_;
};

void expect_values(const std::vector<double>& found, const std::vector<double>& expected) {
  ASSERT_EQ(found.size(), expected.size());
  for (std::size_t k = 0; k < found.size(); ++k)
    EXPECT_TRUE(found[k] == expected[k] || (std::isnan(found[k]) && std::isnan(expected[k])))
        << k << ": " << found[k];
}

TEST_F(DecodeMatrix, ReadsAMatrixOfNamedNodesInAnyOrderOfKeysAndNodes) {
  const auto decoded =
      json(R"({"values":[[1.0,2.5],[null,0]],"complete":true,"sequence":17,"source":"c1",)"
           R"("nodes":["CHIN","ATLA"],"time":"2004-03-01T00:05:00Z","network":"abilene"})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_EQ(decoded->network->network().name, "abilene");
  EXPECT_EQ(decoded->part.time, 1078099500);
  EXPECT_EQ(decoded->part.source, "c1");
  EXPECT_EQ(decoded->part.sequence, 17u);
  EXPECT_TRUE(decoded->part.complete);
  EXPECT_FALSE(decoded->part.sparse);
  EXPECT_EQ(decoded->cells, 3u);
  expect_values(decoded->part.values, {0, kNone, kNone, 2.5, 1.0, kNone, kNone, kNone, kNone});
}

TEST_F(DecodeMatrix, ReadsCellsWithTheRestZero) {
  const auto decoded = json(
      R"({"network":"two","time":"2004-03-01T00:15:00Z","cells":[["A","B",2.5],["B","A",null]],)"
      R"("rest":"zero","metric":"packets"})");
  ASSERT_TRUE(decoded) << decoded.error().message;
  EXPECT_TRUE(decoded->part.sparse);
  EXPECT_TRUE(decoded->part.rest_is_zero);
  EXPECT_EQ(decoded->part.metric, 1);
  EXPECT_EQ(decoded->part.pairs, (std::vector<std::uint32_t>{1, 2}));
  expect_values(decoded->part.values, {2.5, kNone});
  EXPECT_EQ(decoded->cells, 3u);
  EXPECT_EQ(decoded->part.sequence, std::nullopt);
}

TEST_F(DecodeMatrix, TheNetworkOfTheRequestIsMeantWhereNoneIsNamed) {
  EXPECT_EQ(refusal(R"({"time":"2004-03-01T00:15:00Z","values":[[1,2],[3,4]]})", "two"),
            "accepted");
  EXPECT_EQ(refusal(R"({"network":"abilene","time":"2004-03-01T00:15:00Z","values":[[1,2],[3,4]]})",
                    "two"),
            "network: \"abilene\" is not \"two\", to which this was sent");
}

struct BadMessage {
  const char* name;
  const char* text;
  RefusalReason reason;
  const char* message;
};
void PrintTo(const BadMessage& bad, std::ostream* out) { *out << bad.name; }

class Refuses : public DecodeMatrix, public testing::WithParamInterface<BadMessage> {};
TEST_P(Refuses, WithTheReasonAndItsPlace) {
  const auto decoded = json(GetParam().text);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, GetParam().message);
  EXPECT_EQ(decoded.error().reason, GetParam().reason);
}

#define AT R"("network":"two","time":"2004-03-01T00:15:00Z")"
INSTANTIATE_TEST_SUITE_P(
    Messages, Refuses,
    testing::Values(
        BadMessage{"no_network", R"({"time":"2004-03-01T00:15:00Z"})",
                   RefusalReason::kUnknownNetwork, "network: missing"},
        BadMessage{"unknown_network", R"({"network":"x"})", RefusalReason::kUnknownNetwork,
                   "network: \"x\" is not configured"},
        BadMessage{"no_time", R"({"network":"two"})", RefusalReason::kBadTime, "time: missing"},
        BadMessage{"bad_time", R"({"network":"two","time":"yesterday"})", RefusalReason::kBadTime,
                   "time: \"yesterday\" is not like 2004-03-01T00:05:00Z"},
        BadMessage{"off_the_grid", R"({"network":"two","time":"2004-03-01T00:05:00Z"})",
                   RefusalReason::kBadTime,
                   "time: 2004-03-01T00:05:00Z is not the start of a bin of 900 seconds"},
        BadMessage{"nothing_in_it", "{" AT "}", RefusalReason::kBadShape,
                   "values or cells: missing"},
        BadMessage{"both", "{" AT R"(,"cells":[],"values":[]})", RefusalReason::kBadShape,
                   "values and cells: give one of them"},
        BadMessage{"too_few_rows", "{" AT R"(,"values":[[1,2]]})", RefusalReason::kBadShape,
                   "values: 1 x 2 where 2 nodes make 2 x 2"},
        BadMessage{"ragged", "{" AT R"(,"values":[[1,2],[3]]})", RefusalReason::kBadShape,
                   "values[1]: 1 numbers where values[0] has 2"},
        BadMessage{"a_string", "{" AT R"(,"values":[[1,2],["x",4]]})", RefusalReason::kNotANumber,
                   "values[1][0]: not a number"},
        BadMessage{"negative", "{" AT R"(,"values":[[1,2],[-3,4]]})", RefusalReason::kNotANumber,
                   "values[1][0]: negative"},
        BadMessage{"huge", "{" AT R"(,"values":[[1,2],[3,1e31]]})", RefusalReason::kNotANumber,
                   "values[1][1]: larger than 1e30"},
        BadMessage{"not_rows", "{" AT R"(,"values":[1,2]})", RefusalReason::kBadField,
                   "values[0]: must be a list of numbers"},
        BadMessage{"unknown_node", "{" AT R"(,"nodes":["A","C"],"values":[[1,2],[3,4]]})",
                   RefusalReason::kUnknownNode, "nodes[1]: \"C\" is not a node of this network"},
        BadMessage{"node_twice", "{" AT R"(,"nodes":["A","A"],"values":[[1,2],[3,4]]})",
                   RefusalReason::kBadShape, "nodes[1]: \"A\" is named twice"},
        BadMessage{"unknown_cell", "{" AT R"(,"cells":[["A","Z",1]]})", RefusalReason::kUnknownNode,
                   "cells[0]: \"Z\" is not a node of this network"},
        BadMessage{"cell_twice", "{" AT R"(,"cells":[["A","B",1],["A","B",1]]})",
                   RefusalReason::kBadShape, "cells[1]: A>B is given twice"},
        BadMessage{"bad_cell", "{" AT R"(,"cells":[["A","B"]]})", RefusalReason::kBadField,
                   "cells[0]: must be [origin, destination, value]"},
        BadMessage{"bad_cell_value", "{" AT R"(,"cells":[["A","B",true]]})",
                   RefusalReason::kNotANumber, "cells[0]: not a number"},
        BadMessage{"metric", "{" AT R"(,"values":[],"metric":"flows"})",
                   RefusalReason::kUnknownMetric,
                   "metric: \"flows\" is not watched in this network"},
        BadMessage{"rest", "{" AT R"(,"cells":[],"rest":"none"})", RefusalReason::kBadField,
                   "rest: \"none\" is neither \"zero\" nor \"unobserved\""},
        BadMessage{"sequence", "{" AT R"(,"sequence":-1})", RefusalReason::kBadField,
                   "sequence: must be a whole number, not negative"},
        BadMessage{"complete", "{" AT R"(,"complete":1})", RefusalReason::kBadField,
                   "complete: must be true or false"},
        BadMessage{"unknown_key", "{" AT R"(,"value":[[1]]})", RefusalReason::kBadField,
                   "value: not a known key"},
        BadMessage{"key_twice", "{" AT R"(,"values":[[1,2],[3,4]],"values":[[1,2],[3,4]]})",
                   RefusalReason::kBadField, "values: given twice"},
        BadMessage{"a_number_for_a_name", R"({"network":5})", RefusalReason::kBadField,
                   "network: must be a string"}),
    [](const auto& at) { return std::string(at.param.name); });
#undef AT

TEST_F(DecodeMatrix, WhatIsNotAnObjectIsMalformed) {
  for (const char* text : {"", " ", "[]", "7", "{", "{\"a\":}", "{}{}", "garbage", "\xff\xfe",
                           "{\"network\":\"two\",\"values\":[[NaN]]}"}) {
    const auto decoded = json(text);
    ASSERT_FALSE(decoded) << text;
    EXPECT_EQ(decoded.error().reason, RefusalReason::kMalformed) << text;
  }
}

// A minimal CBOR writer, by RFC 8949, for definite lengths below 65536.
struct Cbor {
  std::vector<std::byte> bytes;

  Cbor& head(int major, std::uint64_t argument) {
    const auto put = [&](std::uint64_t value) { bytes.push_back(std::byte(value & 0xff)); };
    if (argument < 24) {
      put(std::uint64_t(major) << 5 | argument);
    } else if (argument < 256) {
      put(std::uint64_t(major) << 5 | 24), put(argument);
    } else {
      put(std::uint64_t(major) << 5 | 25), put(argument >> 8), put(argument);
    }
    return *this;
  }
  Cbor& text(std::string_view value) {
    head(3, value.size());
    for (char c : value) bytes.push_back(std::byte(c));
    return *this;
  }
  Cbor& real(double value) {
    bytes.push_back(std::byte{0xfb});
    std::uint64_t bits;
    std::memcpy(&bits, &value, 8);
    for (int shift = 56; shift >= 0; shift -= 8) bytes.push_back(std::byte(bits >> shift & 0xff));
    return *this;
  }
  Cbor& packed(const std::vector<float>& values) {
    head(6, 85).head(2, values.size() * 4);
    for (float value : values) {
      std::uint32_t bits;
      std::memcpy(&bits, &value, 4);
      for (int shift = 0; shift < 32; shift += 8) bytes.push_back(std::byte(bits >> shift & 0xff));
    }
    return *this;
  }
  Cbor& where() { return text("network").text("two").text("time").text("2004-03-01T00:15:00Z"); }
};

TEST_F(DecodeMatrix, CborReadsPackedFloatsWhereNaNIsNotObserved) {
  Cbor message;
  message.head(5, 5).where().text("values").packed({1.5f, NAN, 0.0f, 4.0f});
  message.text("sequence").head(0, 300).text("complete").head(7, 21);
  const auto decoded = decoder_.cbor(message.bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  expect_values(decoded->part.values, {1.5, kNone, 0.0, 4.0});
  EXPECT_EQ(decoded->part.sequence, 300u);
  EXPECT_TRUE(decoded->part.complete);
  EXPECT_EQ(decoded->cells, 3u);
}

TEST_F(DecodeMatrix, CborReadsRowsAndCellsOfEveryKindOfNumber) {
  Cbor rows;
  rows.head(5, 3).where().text("values").head(4, 2);
  rows.head(4, 2).head(0, 7).real(2.25);
  rows.head(4, 2).head(7, 22);  // null
  rows.bytes.insert(rows.bytes.end(),
                    {std::byte{0xf9}, std::byte{0x3c}, std::byte{0x00}});  // half 1.0
  const auto decoded = decoder_.cbor(rows.bytes);
  ASSERT_TRUE(decoded) << decoded.error().message;
  expect_values(decoded->part.values, {7, 2.25, kNone, 1.0});

  Cbor cells;
  cells.head(5, 3).where().text("cells").head(4, 1).head(4, 3).text("A").text("B").real(9);
  const auto sparse = decoder_.cbor(cells.bytes);
  ASSERT_TRUE(sparse) << sparse.error().message;
  EXPECT_EQ(sparse->part.pairs, std::vector<std::uint32_t>{1});
}

TEST_F(DecodeMatrix, CborRefusesInfinityAndNegativeVolumesWithTheirPlace) {
  Cbor message;
  message.head(5, 3).where().text("values").packed({1.0f, 2.0f, INFINITY, 4.0f});
  auto decoded = decoder_.cbor(message.bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "values[1][0]: larger than 1e30");
  Cbor negative;
  negative.head(5, 3).where().text("values").packed({1.0f, -2.0f, 3.0f, 4.0f});
  decoded = decoder_.cbor(negative.bytes);
  ASSERT_FALSE(decoded);
  EXPECT_EQ(decoded.error().message, "values[0][1]: negative");
}

TEST_F(DecodeMatrix, EveryPieceOfACborMessageIsRefusedAndNothingReadsBeyondIt) {
  Cbor message;
  message.head(5, 4)
      .where()
      .text("values")
      .packed({1.0f, 2.0f, 3.0f, 4.0f})
      .text("rest")
      .text("zero");
  ASSERT_TRUE(decoder_.cbor(message.bytes));
  for (std::size_t size = 0; size < message.bytes.size(); ++size) {
    const std::vector<std::byte> piece(message.bytes.begin(), message.bytes.begin() + long(size));
    EXPECT_FALSE(decoder_.cbor(piece)) << size;
  }
  for (std::size_t at = 0; at < message.bytes.size(); ++at)
    for (int bit = 0; bit < 8; ++bit) {
      std::vector<std::byte> flipped = message.bytes;
      flipped[at] ^= std::byte(1 << bit);
      static_cast<void>(decoder_.cbor(flipped));  // any answer, but an answer
    }
}

}  // namespace
}  // namespace outlierd::ingest
