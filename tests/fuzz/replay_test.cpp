// Every saved input of a fuzz campaign, and a few made on the spot, through the fuzz target: it
// aborts, or a sanitizer does, if one does harm.

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <limits>
#include <vector>

#include "core/byte_stream.h"
#include "core/model/streaming_factorizer.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

namespace outlierd::model {
namespace {

using Input = std::vector<std::uint8_t>;

constexpr std::size_t kHeaderBytes = 28;
constexpr std::uint8_t kAsItStands = 0, kMakeHeader = 1;

TEST(RestoreFactorizer, SurvivesEveryInputOfTheCorpus) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(
           std::filesystem::path(OUTLIERD_CORPUS) / "restore_factorizer")) {
    SCOPED_TRACE(entry.path().filename().string());
    std::ifstream in(entry.path(), std::ios::binary);
    const Input input{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
    EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
    ++files;
  }
  EXPECT_GT(files, 0);
}

// The body of a snapshot of the target's first kind of stream, warm and with an outlier.
Input body_of_a_snapshot() {
  FactorizerOptions options;
  options.window = 5;
  options.max_rank = 2;
  StreamingFactorizer factorizer({3, 4}, options);
  for (int t = 0; t < 8; ++t) {
    Slice slice({3, 4});
    for (std::size_t cell = 0; cell < 12; ++cell)
      if (int(cell) != t)
        slice.set(cell, double(cell / 4 + 1) * double(cell % 4 + 2) * (10 + t % 3));
    if (t == 7) slice.set(2, 1e6);
    factorizer.update(slice);
  }
  EXPECT_TRUE(factorizer.warm());
  const std::vector<std::byte> bytes = factorizer.save();
  Input body;
  for (std::size_t at = kHeaderBytes; at < bytes.size(); ++at)
    body.push_back(std::uint8_t(bytes[at]));
  return body;
}

void run(std::uint8_t how, const Input& bytes) {
  Input input = {how};
  input.insert(input.end(), bytes.begin(), bytes.end());
  EXPECT_EQ(LLVMFuzzerTestOneInput(input.data(), input.size()), 0);
}

TEST(RestoreFactorizer, SurvivesShortInputs) {
  for (std::size_t length = 0; length < 40; ++length)
    for (std::uint8_t how : {kAsItStands, kMakeHeader}) run(how, Input(length, how));
}

TEST(RestoreFactorizer, SurvivesABodyCutAnywhere) {
  const Input body = body_of_a_snapshot();
  run(kMakeHeader, body);
  for (std::size_t length = 0; length < body.size(); ++length)
    run(kMakeHeader, Input(body.begin(), body.begin() + std::ptrdiff_t(length)));
}

// At every place: the extreme integers, and the doubles that poison arithmetic.
TEST(RestoreFactorizer, SurvivesExtremeNumbersAnywhere) {
  const Input body = body_of_a_snapshot();
  const auto try_at = [&](std::size_t at, auto value) {
    if (at + sizeof value > body.size()) return;
    Input changed = body;
    std::byte bytes[sizeof value];
    detail::to_little_endian(value, bytes);
    for (std::size_t k = 0; k < sizeof value; ++k) changed[at + k] = std::uint8_t(bytes[k]);
    run(kMakeHeader, changed);
  };
  for (std::size_t at = 0; at < body.size(); ++at) {
    for (std::int32_t value : {std::numeric_limits<std::int32_t>::min(),
                               std::numeric_limits<std::int32_t>::max(), -1, 0, 1})
      try_at(at, value);
    for (std::int64_t value :
         {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max()})
      try_at(at, value);
    for (double value :
         {std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), 1e308,
          -1e308, 1e160, 1e-310, -1.0})
      try_at(at, value);
  }
}

}  // namespace
}  // namespace outlierd::model
