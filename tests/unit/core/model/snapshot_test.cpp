// The state of a factorizer as bytes: a stream cut anywhere goes on bit for bit, and nothing but an
// intact snapshot of the same kind of stream is taken.

#include <gtest/gtest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <ostream>
#include <string>
#include <vector>

#include "core/byte_stream.h"
#include "core/model/streaming_factorizer.h"
#include "tests/support/results.h"
#include "tests/support/synthetic.h"

namespace outlierd::model {
namespace {

using test::same;
using Bytes = std::vector<std::byte>;

constexpr std::size_t kHeaderBytes = 28;  // magic, version, length, checksum

struct Setting {
  std::string name;
  SliceShape shape;
  double missing;
  int threads;
};
void PrintTo(const Setting& setting, std::ostream* out) { *out << setting.name; }

FactorizerOptions small_options(int threads = 1) {
  FactorizerOptions options;
  options.window = 9;
  options.max_rank = 4;
  options.cold_start_slices = 7;
  options.level_slices = 3;
  options.reseed_slices = 2;
  options.threads = threads;
  return options;
}

// With outliers, and one cell at a new level towards the end.
std::vector<Slice> slices_of(const Setting& setting, int count) {
  auto stream = test::synthetic_stream({.shape = setting.shape,
                                        .slices = count,
                                        .rank = 2,
                                        .outlier_share = 0.03,
                                        .missing_share = setting.missing,
                                        .smooth = true,
                                        .seed = 12});
  for (int t = count / 2; t < count; ++t) stream.slices[t].set(3, 50.0 * stream.sigma);
  return stream.slices;
}

class SnapshotTest : public testing::TestWithParam<Setting> {};

TEST_P(SnapshotTest, AStreamCutAnywhereGoesOnBitForBit) {
  const int count = 30;
  const std::vector<Slice> slices = slices_of(GetParam(), count);
  const FactorizerOptions options = small_options(GetParam().threads);
  const FactorizerOptions other_threads = small_options(3 - GetParam().threads);
  for (int cut = 0; cut < count; ++cut) {
    StreamingFactorizer whole(GetParam().shape, options);
    for (int t = 0; t < cut; ++t) whole.update(slices[t]);
    const Bytes bytes = whole.save();
    auto resumed = StreamingFactorizer::restore(bytes, GetParam().shape, other_threads);
    ASSERT_TRUE(resumed) << resumed.error() << ", cut at " << cut;
    ASSERT_TRUE(resumed->save() == bytes) << "cut at " << cut;
    EXPECT_EQ(resumed->warm(), whole.warm());
    EXPECT_EQ(resumed->slices_learned(), cut);
    EXPECT_EQ(resumed->component_strengths(), whole.component_strengths());
    if (whole.warm()) {
      EXPECT_TRUE(same(resumed->fitted(), whole.fitted())) << "cut at " << cut;
      EXPECT_TRUE(test::same_bits(resumed->evidence_bound(), whole.evidence_bound()));
    }
    for (int t = cut; t < count; ++t) {
      ASSERT_TRUE(same(resumed->update(slices[t]), whole.update(slices[t])))
          << "cut at " << cut << ", slice " << t;
      ASSERT_TRUE(same(resumed->projection(), whole.projection()))
          << "cut at " << cut << ", slice " << t;
    }
    ASSERT_TRUE(resumed->save() == whole.save()) << "cut at " << cut;
  }
}

// A projection in between is not part of the state.
TEST_P(SnapshotTest, ProjectingBeforeSavingChangesNoByte) {
  const std::vector<Slice> slices = slices_of(GetParam(), 14);
  StreamingFactorizer factorizer(GetParam().shape, small_options());
  for (int t = 0; t < 12; ++t) factorizer.update(slices[t]);
  const Bytes bytes = factorizer.save();
  factorizer.project(slices[13]);
  factorizer.fitted();
  factorizer.evidence_bound();
  EXPECT_TRUE(factorizer.save() == bytes);
}

INSTANTIATE_TEST_SUITE_P(, SnapshotTest,
                         testing::Values(Setting{"TwoWay", {7, 6}, 0.0, 1},
                                         Setting{"TwoWayMasked", {7, 6}, 0.3, 1},
                                         Setting{"TwoThreadsMasked", {66, 70}, 0.1, 2},
                                         Setting{"ThreeWay", {5, 4, 3}, 0.0, 1},
                                         Setting{"ThreeWayMasked", {5, 4, 3}, 0.2, 2}),
                         [](const auto& setting) { return setting.param.name; });

TEST(PaperSnapshot, GoesOnBitForBitToo) {
  FactorizerOptions options = small_options();
  options.rules = Rules::kPaper;
  options.cold_sweeps = 8;
  const std::vector<Slice> slices = slices_of({"", {5, 4}, 0.2, 1}, 14);
  for (int cut : {0, 1, 8, 9, 12}) {
    StreamingFactorizer whole({5, 4}, options);
    for (int t = 0; t < cut; ++t) whole.update(slices[t]);
    auto resumed = StreamingFactorizer::restore(whole.save(), {5, 4}, options);
    ASSERT_TRUE(resumed) << resumed.error();
    for (int t = cut; t < 14; ++t) {
      EXPECT_TRUE(same(resumed->update(slices[t]), whole.update(slices[t])));
      EXPECT_TRUE(same(resumed->projection(), whole.projection())) << "cut at " << cut;
    }
    EXPECT_TRUE(resumed->save() == whole.save());
  }
}

const SliceShape kTiny = {3, 4};

FactorizerOptions tiny_options() {
  FactorizerOptions options;
  options.window = 5;
  options.max_rank = 2;
  return options;
}

Bytes tiny_snapshot() {
  StreamingFactorizer factorizer(kTiny, tiny_options());
  const auto stream = test::synthetic_stream(
      {.shape = kTiny, .slices = 7, .rank = 1, .missing_share = 0.1, .smooth = true});
  for (const Slice& slice : stream.slices) factorizer.update(slice);
  EXPECT_TRUE(factorizer.warm());
  return factorizer.save();
}

std::string reason(const Bytes& bytes, const SliceShape& shape = kTiny,
                   const FactorizerOptions& options = tiny_options()) {
  const auto restored = StreamingFactorizer::restore(bytes, shape, options);
  return restored ? "restored" : restored.error();
}

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
  detail::to_little_endian(value, bytes.data() + at);
}

// Length and checksum right again, so that what is inside is looked at.
Bytes sealed(Bytes bytes) {
  const std::span<const std::byte> body = std::span(bytes).subspan(kHeaderBytes);
  put(bytes, 12, std::uint64_t(body.size()));
  put(bytes, 20, crc64(body));
  return bytes;
}

TEST(Snapshot, CutShortAnywhereIsRefusedWithAReason) {
  const Bytes whole = tiny_snapshot();
  EXPECT_EQ(reason(whole), "restored");
  for (std::size_t length = 0; length < whole.size(); ++length) {
    Bytes part(whole.begin(), whole.begin() + std::ptrdiff_t(length));
    EXPECT_EQ(reason(part), length < 8 ? "not a snapshot of a factorizer"
                                       : "the snapshot is cut short or too long")
        << length;
    // Even if it were sealed again.
    if (length >= kHeaderBytes) {
      EXPECT_NE(reason(sealed(part)), "restored") << length;
      EXPECT_NE(reason(sealed(part)), "") << length;
    }
  }
}

TEST(Snapshot, WithAnythingBehindItIsRefused) {
  Bytes bytes = tiny_snapshot();
  bytes.push_back(std::byte{0});
  EXPECT_EQ(reason(bytes), "the snapshot is cut short or too long");
  EXPECT_EQ(reason(sealed(bytes)), "the snapshot contradicts itself");
}

TEST(Snapshot, WithAnyByteFlippedIsRefused) {
  Bytes bytes = tiny_snapshot();
  for (std::size_t at = 0; at < bytes.size(); ++at)
    for (int flip : {0x01, 0x80, 0xff}) {
      bytes[at] ^= std::byte(flip);
      const std::string why = reason(bytes);
      if (at < 8) {
        EXPECT_EQ(why, "not a snapshot of a factorizer");
      } else if (at < 12) {
        EXPECT_EQ(why.substr(0, 27), "the snapshot is of version ");
      } else if (at < 20) {
        EXPECT_EQ(why, "the snapshot is cut short or too long");
      } else {
        EXPECT_EQ(why, "the snapshot is damaged: its checksum is wrong");
      }
      bytes[at] ^= std::byte(flip);
    }
}

// Whatever the bytes say, a sealed snapshot is refused or is a factorizer that works.
TEST(Snapshot, WithAnyByteFlippedAndSealedAgainDoesNoHarm) {
  const auto stream = test::synthetic_stream({.shape = kTiny, .slices = 2, .rank = 1});
  const Bytes whole = tiny_snapshot();
  for (std::size_t at = kHeaderBytes; at < whole.size(); ++at)
    for (int flip : {0x01, 0x80, 0xff}) {
      Bytes bytes = whole;
      bytes[at] ^= std::byte(flip);
      auto restored = StreamingFactorizer::restore(sealed(bytes), kTiny, tiny_options());
      if (!restored) {
        EXPECT_NE(restored.error(), "");
        continue;
      }
      for (const Slice& slice : stream.slices) restored->update(slice);
      EXPECT_EQ(restored->projection().expected.size(), cell_count(kTiny));
    }
}

TEST(Snapshot, OfAnotherKindOfStreamIsRefused) {
  const Bytes bytes = tiny_snapshot();
  FactorizerOptions options = tiny_options();
  options.window = 4;
  EXPECT_EQ(reason(bytes, kTiny, options), "the snapshot has a window of 5 slices, not 4");
  options = tiny_options();
  options.max_rank = 5;
  EXPECT_EQ(reason(bytes, kTiny, options), "the snapshot has a max_rank of 2, not 5");
  options = tiny_options();
  options.rules = Rules::kPaper;
  EXPECT_EQ(reason(bytes, kTiny, options), "the snapshot was made under other rules");
  EXPECT_EQ(reason(bytes, {12}), "the snapshot has other modes");
  EXPECT_EQ(reason(bytes, {3, 4, 1}), "the snapshot has other modes");
  EXPECT_EQ(reason(bytes, {4, 3}), "the snapshot has other nodes");
  Bytes newer = bytes;
  put(newer, 8, std::uint32_t{2});
  EXPECT_EQ(reason(newer), "the snapshot is of version 2, this program reads 1");
  EXPECT_EQ(reason({}), "not a snapshot of a factorizer");
}

TEST(Snapshot, MayBeResumedWithOtherOptions) {
  FactorizerOptions options = tiny_options();
  options.forgetting = 0.9;
  options.cold_start_slices = 2;
  options.cold_sweeps = 5;
  options.warm_sweeps = 3;
  options.tolerance = 1e-3;
  options.projection_rounds = 4;
  options.sparse = false;
  options.outlier_sigmas = 6;
  options.level_slices = 2;
  options.reseed_slices = 1;
  options.threads = 2;
  auto restored = StreamingFactorizer::restore(tiny_snapshot(), kTiny, options);
  ASSERT_TRUE(restored) << restored.error();
  EXPECT_EQ(restored->options().warm_sweeps, 3);
  const auto stream = test::synthetic_stream({.shape = kTiny, .slices = 3, .rank = 1});
  for (const Slice& slice : stream.slices)
    EXPECT_NE(restored->update(slice).status, SliceStatus::kBadInput);
}

// Where the numbers of the body of a two-way snapshot stand, behind rules, window, max_rank and
// shape.
constexpr std::size_t kWarmAt = kHeaderBytes + 1 + 4 + 4 + 4 + 2 * 4;
constexpr std::size_t kExponentAt = kWarmAt + 1, kLearnedAt = kExponentAt + 4;
constexpr std::size_t kSizeAt = kLearnedAt + 8, kValuesAt = kSizeAt + 4;

TEST(Snapshot, ThatContradictsItselfIsRefused) {
  const Bytes whole = tiny_snapshot();
  const std::string contradiction = "the snapshot contradicts itself";
  const auto with = [&](std::size_t at, auto value) {
    Bytes bytes = whole;
    put(bytes, at, value);
    return reason(sealed(bytes));
  };
  EXPECT_EQ(with(kSizeAt, std::int32_t{-1}), contradiction);
  EXPECT_EQ(with(kSizeAt, std::int32_t{0}), contradiction);
  EXPECT_EQ(with(kSizeAt, std::int32_t{6}), contradiction);
  EXPECT_EQ(with(kSizeAt, std::numeric_limits<std::int32_t>::max()), contradiction);
  EXPECT_EQ(with(kLearnedAt, std::int64_t{-1}), contradiction);
  for (int exponent :
       {5000, -5000, std::numeric_limits<int>::max(), std::numeric_limits<int>::min()})
    EXPECT_EQ(with(kExponentAt, std::int32_t(exponent)), contradiction) << exponent;
  EXPECT_EQ(with(kValuesAt, std::numeric_limits<double>::quiet_NaN()), contradiction);
  EXPECT_EQ(with(kValuesAt, std::numeric_limits<double>::infinity()), contradiction);
  // Mask words of the first slice: bits beyond the last column.
  EXPECT_EQ(with(kValuesAt + 12 * 8, ~std::uint64_t{0}), contradiction);
}

// A count at the end of its range must not overflow at the next slice.
TEST(Snapshot, WithTheLargestCountStillGoesOn) {
  Bytes bytes = tiny_snapshot();
  put(bytes, kLearnedAt, std::numeric_limits<std::int64_t>::max());
  auto restored = StreamingFactorizer::restore(sealed(bytes), kTiny, tiny_options());
  if (!restored) return;  // refusing it is as good
  const auto stream = test::synthetic_stream({.shape = kTiny, .slices = 1, .rank = 1});
  restored->update(stream.slices[0]);
  EXPECT_GT(restored->slices_learned(), 0);
}

// A noise precision at the end of the range overflows in every precision matrix: the slice is
// refused, and not a byte of the model moves.
TEST(Snapshot, ANumericalFailureIsToldAndLeavesNoTrace) {
  Bytes bytes = tiny_snapshot();
  std::int32_t slices = 0;
  std::memcpy(&slices, bytes.data() + kSizeAt, sizeof slices);
  const std::size_t slice_bytes =
      cell_count(kTiny) * 8 + std::size_t(kTiny[0]) * 8;  // and a mask word a row
  const std::size_t tau_at = kValuesAt + std::size_t(slices) * slice_bytes + 4;
  put(bytes, tau_at, std::numeric_limits<double>::max());
  bytes = sealed(bytes);
  auto restored = StreamingFactorizer::restore(bytes, kTiny, tiny_options());
  ASSERT_TRUE(restored) << restored.error();
  const auto stream =
      test::synthetic_stream({.shape = kTiny, .slices = 1, .rank = 1, .scale = 1e10});
  EXPECT_EQ(restored->update(stream.slices[0]).status, SliceStatus::kNumericalFailure);
  EXPECT_TRUE(std::isnan(restored->projection().expected[0]));
  EXPECT_TRUE(restored->save() == bytes);
}

// Written by hand after the description in snapshot.cpp: a warm state of one component, A = 2,
// B = (3, 5), c = 7 then 0.5, in units of 2^3. Of a slice not observed, L = a b c is expected.
TEST(SnapshotFormat, HoldsTheFactorsInTheUnitOfTheModel) {
  FactorizerOptions options;
  options.window = 2;
  options.max_rank = 1;
  ByteWriter out;
  for (char letter : {'O', 'U', 'T', 'L', 'F', 'A', 'C', 'T'}) out.number(letter);
  out.number(std::uint32_t{1});
  out.number(std::uint64_t{0});  // length and checksum: sealed() below
  out.number(std::uint64_t{0});
  out.number(std::uint8_t{0});
  for (std::int32_t number : {2, 1, 2, 1, 2}) out.number(number);  // window, max_rank, shape
  out.number(std::uint8_t{1});                                     // warm
  out.number(std::int32_t{3});                                     // exponent
  out.number(std::int64_t{99});                                    // slices learned
  out.number(std::int32_t{2});
  for (double c : {7.0, 0.5}) {  // two slices, all observed
    for (double b : {3.0, 5.0}) out.number(2.0 * b * c);
    out.number(std::uint64_t{3});
  }
  out.number(std::int32_t{1});                     // rank
  out.number(16.0);                                // tau
  out.number(0.25);                                // lambda
  for (double mean : {2.0, 3.0, 5.0, 7.0, 0.5}) {  // each row: mean, second moment
    out.number(mean);
    out.number(mean * mean + 0.01);
  }
  out.number(std::uint8_t{0});  // flagged runs
  out.number(std::uint8_t{4});
  out.number(std::int64_t{1});  // one outlier in the newest slice: cell, observed, S, Var[S]
  out.number(std::int64_t{1});
  for (double number : {6.0, 1.0, 0.04}) out.number(number);

  auto restored = StreamingFactorizer::restore(sealed(out.take()), {1, 2}, options);
  ASSERT_TRUE(restored) << restored.error();
  EXPECT_TRUE(restored->warm());
  EXPECT_EQ(restored->slices_learned(), 99);
  const SliceResult& result = restored->project(Slice({1, 2}));
  EXPECT_EQ(result.expected, (std::vector<double>{8.0 * 3.0, 8.0 * 5.0}));
  EXPECT_EQ(result.noise_precision, 16.0 / 64.0);
  // Var[L] = prod E[x^2] - prod E[x]^2, and the noise.
  const double second = 4.01 * 9.01 * 0.26, squared = 4.0 * 9.0 * 0.25;
  EXPECT_NEAR(result.spread[0], 8.0 * std::sqrt(second - squared + 1.0 / 16.0), 1e-12);
  EXPECT_EQ(restored->fitted().sparse, (std::vector<double>{0.0, 8.0}));
  EXPECT_NEAR(restored->fitted().sparse_spread[1], 8.0 * 0.2, 1e-15);
}

// The format, byte by byte: what was written by version 1 stays readable.
TEST(SnapshotFormat, IsWhatItIs) {
  FactorizerOptions options;
  options.window = 2;
  options.max_rank = 1;
  StreamingFactorizer factorizer({1, 2}, options);
  Slice slice({1, 2});
  slice.set(1, -2.5);
  factorizer.update(slice);
  const unsigned char golden[] = {
      'O', 'U', 'T', 'L', 'F', 'A', 'C',  'T',               // magic
      1,   0,   0,   0,                                      // version
      136, 0,   0,   0,   0,   0,   0,    0,                 // length of what follows the checksum
      0,   0,   0,   0,   0,   0,   0,    0,                 // checksum, below
      0,                                                     // rules: outlierd
      2,   0,   0,   0,                                      // window
      1,   0,   0,   0,                                      // max_rank
      2,   0,   0,   0,   1,   0,   0,    0,    2, 0, 0, 0,  // two modes: 1 x 2
      0,                                                     // not warm
      0,   0,   0,   0,                                      // exponent
      1,   0,   0,   0,   0,   0,   0,    0,                 // slices learned
      1,   0,   0,   0,                                      // slices in the window
      0,   0,   0,   0,   0,   0,   0,    0,                 // not observed: 0
      0,   0,   0,   0,   0,   0,   0x04, 0xc0,              // -2.5
      2,   0,   0,   0,   0,   0,   0,    0,                 // mask of the row: second cell
      0,   0,   0,   0,                                      // rank
      0,   0,   0,   0,   0,   0,   0xf0, 0x3f,              // tau: 1
      0,   0,                                                // flagged runs
      0,   0,   0,   0,   0,   0,   0,    0,                 // outliers of the newest slice
  };
  Bytes bytes(sizeof golden);
  std::memcpy(bytes.data(), golden, sizeof golden);
  bytes = sealed(bytes);
  EXPECT_EQ(factorizer.save().size(), bytes.size());
  EXPECT_TRUE(factorizer.save() == bytes);
  EXPECT_EQ(reason(bytes, {1, 2}, options), "restored");
}

}  // namespace
}  // namespace outlierd::model
