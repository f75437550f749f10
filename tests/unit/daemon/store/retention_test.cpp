#include <gtest/gtest.h>

#include "daemon/store/reader.h"
#include "daemon/store/store.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/daemon/store/reports.h"

namespace outlierd::store {
namespace {

using test::anomaly_at;
using test::event_of;
using test::must;
using test::network_of;
using test::report_of;
using test::write_one;

constexpr std::uint64_t kNoLimit = std::uint64_t{1} << 60;

class Retention : public testing::Test {
 protected:
  // Every slice has an anomaly and an event that opens; all but the first close at the next bin.
  void fill(const Network& network, EpochSeconds first, int slices) {
    for (int t = 0; t < slices; ++t) {
      const EpochSeconds time = first + 300 * t;
      SliceReport report = report_of(network, time);
      const std::string id = network.name + std::to_string(time);
      report.anomalies = {anomaly_at(time, 0, 1, 7.0, id)};
      Event event = event_of(id, time, time);
      if (t != 0) {
        event.open = false;
        event.closed = time + 300;
      }
      report.events = {{EventChange::kOpened, event}};
      write_one(store_, network, report);
    }
  }

  test::TemporaryDirectory directory_;
  Store store_ = must(Store::open(directory_ / "outlierd.db"));
  Reader reader_ = must(Reader::open(directory_ / "outlierd.db"));
};

TEST_F(Retention, IsCountedBackFromTheNewestSliceOfEachNetwork) {
  fill(network_of("old", 4), 1'000'000'200, 20);
  fill(network_of("new", 4), 1'700'000'100, 20);
  const PruneResult result = must(store_.prune(300 * 9, kNoLimit));
  EXPECT_EQ(result.slices, 20);
  EXPECT_FALSE(result.more);
  for (const auto& [name, first] :
       {std::pair<std::string, EpochSeconds>{"old", 1'000'000'200}, {"new", 1'700'000'100}}) {
    EXPECT_EQ(must(reader_.bounds(name))->oldest, first + 300 * 10);
    EXPECT_EQ(must(reader_.bounds(name))->newest, first + 300 * 19);
    EXPECT_EQ(must(reader_.anomalies({.network = name}, {})).items.size(), 10u);
    // Of the first ten the open one stays, and the one that closed when history begins.
    const auto events = must(reader_.events({.network = name}, {})).items;
    EXPECT_EQ(events.size(), 12u);
    EXPECT_TRUE(events.back().open);
    EXPECT_EQ(events.back().opened, first);
  }
}

TEST_F(Retention, WorkOfOneCallIsBoundedAndTheRestFollows) {
  fill(network_of("n", 4), 0, 50);
  int calls = 1;
  PruneResult result = must(store_.prune(0, kNoLimit, 20));
  EXPECT_EQ(result.slices, 20);
  EXPECT_TRUE(result.more);
  for (; result.more; ++calls) result = must(store_.prune(0, kNoLimit, 20));
  EXPECT_EQ(calls, 3);
  EXPECT_EQ(must(reader_.bounds("n"))->oldest, 300 * 49);
}

TEST_F(Retention, OldestGoFirstUntilTheFileIsSmallEnough) {
  fill(network_of("n", 40), 0, 200);     // 1600 cells: about 25 KB each
  fill(network_of("m", 40), 9'000, 20);  // a shorter past: its slices are younger
  const std::uint64_t full = must(store_.prune(1 << 30, kNoLimit)).used_bytes;
  const std::uint64_t allowed = full / 2;
  PruneResult result;
  do result = must(store_.prune(1 << 30, allowed, 10));
  while (result.more);
  for (int i = 0; i < 10; ++i) result = must(store_.prune(1 << 30, allowed, 10));
  EXPECT_LE(result.used_bytes, allowed);
  EXPECT_LE(result.file_bytes, allowed) << "the file itself was not made smaller";
  EXPECT_GT(result.used_bytes, allowed * 8 / 10) << "more went than had to";
  EXPECT_EQ(must(reader_.bounds("m"))->oldest, 9'000);
  const auto bounds = must(reader_.bounds("n"));
  EXPECT_EQ(bounds->newest, 300 * 199);
  EXPECT_GT(bounds->oldest, 300 * 50);
  EXPECT_TRUE(reader_.matrix("n", bounds->oldest));
  EXPECT_FALSE(reader_.matrix("n", bounds->oldest - 300));
}

TEST_F(Retention, TheNewestSliceStaysHoweverLittleIsAllowed) {
  fill(network_of("n", 40), 0, 5);
  EXPECT_EQ(must(store_.prune(1 << 30, 1)).slices, 4);
  EXPECT_TRUE(reader_.matrix("n", std::nullopt));
}

}  // namespace
}  // namespace outlierd::store
