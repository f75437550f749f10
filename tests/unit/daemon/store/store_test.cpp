#include "daemon/store/store.h"

#include <gtest/gtest.h>

#include <bit>
#include <set>

#include "daemon/store/reader.h"
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

bool same_bits(const std::vector<float>& x, const std::vector<float>& y) {
  return std::equal(x.begin(), x.end(), y.begin(), y.end(), [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
  });
}

void expect_same(const StoredSlice& slice, const Network& network, const SliceReport& report) {
  EXPECT_EQ(slice.network, network);
  EXPECT_EQ(slice.time, report.time);
  EXPECT_TRUE(same_bits(slice.observed, report.observed));
  EXPECT_TRUE(same_bits(slice.expected, report.expected));
  EXPECT_TRUE(same_bits(slice.low, report.low));
  EXPECT_TRUE(same_bits(slice.high, report.high));
  EXPECT_TRUE(same_bits(slice.sparse, report.sparse));
  EXPECT_TRUE(same_bits(slice.score, report.score));
}

class StoreTest : public testing::Test {
 protected:
  test::TemporaryDirectory directory_;
  Store store_ = must(Store::open(directory_ / "outlierd.db"));
  Reader reader_ = must(Reader::open(directory_ / "outlierd.db"));
};

TEST_F(StoreTest, GivesASliceBackBitForBit) {
  for (const Network& network :
       {network_of("one", 1), network_of("abilene", 12), network_of("two way", 5, 3),
        network_of("several blocks", 150), network_of("three-way blocks", 130, 2)}) {
    SCOPED_TRACE(network.name);
    SliceReport report = report_of(network, 300);
    report.open_events = 3;
    write_one(store_, network, report);
    const StoredSlice slice = must(reader_.matrix(network.name, 300));
    expect_same(slice, network, report);
    EXPECT_EQ(slice.open_events, 3);
    EXPECT_EQ(slice.threshold, 5.5);
    EXPECT_EQ(slice.model.status, "converged");
    EXPECT_EQ(slice.model.rank, 4);
    EXPECT_EQ(slice.model.noise_precision, 12.5);
    EXPECT_TRUE(std::isnan(slice.model.evidence_bound));
    EXPECT_EQ(slice.model.component_strengths, (std::vector<double>{3.0, 2.0, 1.0}));
  }
}

TEST_F(StoreTest, EverySliceIsALineWithTheTotalOfTheMetric) {
  Network network = network_of("n", 3);
  for (int t = 0; t < 4; ++t) {
    if (t == 2) network.metrics.push_back("packets");
    SliceReport report = report_of(network, 300 * t);
    for (auto* values : {&report.observed, &report.expected, &report.low, &report.high})
      for (std::size_t cell = 0; cell < values->size(); ++cell)
        (*values)[cell] = cell % network.metrics.size() == 0 ? 2.0f : 5.0f;
    write_one(store_, network, report);
  }
  write_one(store_, network, report_of(network, 900));  // anew: in place of the old one
  const auto points = must(reader_.slices("n", "packets", 300, 900));
  ASSERT_EQ(points.size(), 2u);
  EXPECT_EQ(points[0].time, 300);
  EXPECT_TRUE(std::isnan(points[0].total.observed)) << "there were no packets yet";
  EXPECT_EQ(points[1].total.observed, 45.0);
  EXPECT_EQ(points[1].total.expected, 45.0);
  EXPECT_EQ(points[1].rank, 4);
  EXPECT_EQ(points[1].threshold, 5.5);
  EXPECT_EQ(must(reader_.slices("n", "bytes", 0, 10000)).size(), 4u);
  EXPECT_EQ(must(reader_.slices("n", "bytes", 0, 300))[0].total.observed, 18.0);
  EXPECT_TRUE(must(reader_.slices("nowhere", "bytes", 0, 10000)).empty());
}

TEST_F(StoreTest, ArraysLeftOutAreReadAsUnknown) {
  const Network network = network_of("n", 3);
  SliceReport report;
  report.time = 600;
  write_one(store_, network, report);
  const StoredSlice slice = must(reader_.matrix("n", std::nullopt));
  ASSERT_EQ(slice.expected.size(), 9u);
  for (float value : slice.expected) EXPECT_TRUE(std::isnan(value));
}

TEST_F(StoreTest, SeriesFollowsACellThroughBlocksAndChangesOfTheNodes) {
  Network network = network_of("big", 150);  // two blocks
  std::vector<float> expected;
  for (int t = 0; t < 6; ++t) {
    if (t == 2) network.nodes.insert(network.nodes.begin(), "new");  // N140 moves by one
    if (t == 4) network.nodes[141] = "renamed";
    const SliceReport report = report_of(network, 300 * t);
    write_one(store_, network, report);
    if (t < 4) expected.push_back(report.expected[network.cell(t < 2 ? 140 : 141, t < 2 ? 3 : 4)]);
  }
  const Series series =
      must(reader_.series({.network = "big", .origin = "N140", .destination = "N3"}));
  ASSERT_EQ(series.points.size(), 4u);
  for (int t = 0; t < 4; ++t) {
    EXPECT_EQ(series.points[t].time, 300 * t);
    EXPECT_EQ(series.points[t].expected, expected[t]);
  }
  const StoredSlice old = must(reader_.matrix("big", 0));
  EXPECT_EQ(old.network.nodes.size(), 150u);
  EXPECT_EQ(old.network.nodes[140], "N140");
}

TEST_F(StoreTest, SeriesIsCutToItsTimesAndItsLimitAndSaysWhereItGoesOn) {
  const Network network = network_of("n", 4);
  for (int t = 0; t < 20; ++t) write_one(store_, network, report_of(network, 300 * t));
  SeriesRequest request{
      .network = "n", .origin = "N1", .destination = "N2", .from = 600, .to = 3000};
  Series series = must(reader_.series(request));
  ASSERT_EQ(series.points.size(), 8u);
  EXPECT_EQ(series.points.front().time, 600);
  EXPECT_EQ(series.points.back().time, 2700);
  EXPECT_FALSE(series.next);
  request.limit = 3;
  series = must(reader_.series(request));
  ASSERT_EQ(series.points.size(), 3u);
  EXPECT_EQ(series.next, 1500);
}

TEST_F(StoreTest, UnknownNamesAreSaidByName) {
  const Network network = network_of("n", 4);
  write_one(store_, network, report_of(network, 300));
  const auto reason = [&](SeriesRequest request) {
    const auto series = reader_.series(request);
    return series ? "found" : series.error().message;
  };
  EXPECT_EQ(reason({.network = "m", .origin = "N1", .destination = "N2"}),
            "there is no history of m");
  EXPECT_EQ(reason({.network = "n", .origin = "X", .destination = "N2"}), "n has no node X");
  EXPECT_EQ(reason({.network = "n", .origin = "N1", .destination = "N2", .metric = "flows"}),
            "n has no metric flows");
  const auto matrix = reader_.matrix("n", 600);
  ASSERT_FALSE(matrix);
  EXPECT_EQ(matrix.error().kind, StoreError::Kind::kNotFound);
}

TEST_F(StoreTest, WritingTheSameTwiceChangesNothing) {
  const Network network = network_of("n", 4);
  SliceReport report = report_of(network, 300);
  report.anomalies = {anomaly_at(300, 0, 1, 7.0, "e1"), anomaly_at(300, 2, 1, 8.0, "e1")};
  report.events = {{EventChange::kOpened, event_of("e1", 300, 300)}};
  for (int i = 0; i < 3; ++i) write_one(store_, network, report);
  EXPECT_EQ(must(reader_.anomalies({}, {})).items.size(), 2u);
  ASSERT_EQ(must(reader_.events({}, {})).items.size(), 1u);
  EXPECT_EQ(must(reader_.events({}, {})).items[0].since, 240);
  expect_same(must(reader_.matrix("n", 300)), network, report);
  report.anomalies.pop_back();  // re-processed otherwise: the later word counts
  write_one(store_, network, report);
  EXPECT_EQ(must(reader_.anomalies({}, {})).items.size(), 1u);
}

TEST_F(StoreTest, ReplayNeitherReopensAnEventNorTakesItBack) {
  const Network network = network_of("n", 4);
  const auto write_event = [&](EpochSeconds time, const Event& event) {
    SliceReport report = report_of(network, time);
    report.events = {{EventChange::kUpdated, event}};
    write_one(store_, network, report);
  };
  const Event opened = event_of("e1", 300, 300);
  Event grown = event_of("e1", 300, 600);
  grown.excess = 9000.0;
  Event closed = grown;
  closed.open = false;
  closed.closed = 1500;
  for (int round = 0; round < 2; ++round) {
    write_event(300, opened);
    write_event(600, grown);
    if (round == 1) {
      EXPECT_FALSE(must(reader_.event("e1")).open) << "reopened by a replay";
      EXPECT_EQ(must(reader_.event("e1")).excess, 9000.0);
    }
    write_event(1500, closed);
    const StoredEvent event = must(reader_.event("e1"));
    EXPECT_FALSE(event.open);
    EXPECT_EQ(event.closed, 1500);
    EXPECT_EQ(event.excess, 9000.0);
  }
  Event again = grown;
  again.updated = 1800;
  write_event(1800, again);
  EXPECT_TRUE(must(reader_.event("e1")).open);
}

TEST_F(StoreTest, EventsAreReadWithTheNamesOfTheirTime) {
  Network network = network_of("n", 4);
  SliceReport report = report_of(network, 300);
  report.events = {{EventChange::kOpened, event_of("e1", 300, 300)}};
  write_one(store_, network, report);
  network.nodes = {"A", "B", "C"};
  write_one(store_, network, report_of(network, 600));
  const StoredEvent event = must(reader_.event("e1"));
  EXPECT_EQ(event.network, "n");
  EXPECT_EQ(event.shape, Shape::kDdos);
  EXPECT_EQ(event.origins, (std::vector<std::string>{"N0", "N1"}));
  EXPECT_EQ(event.destinations, (std::vector<std::string>{"N2"}));
  ASSERT_EQ(event.cells.size(), 2u);
  EXPECT_EQ(event.cells[1].origin, "N1");
  EXPECT_EQ(event.cells[1].metric, "bytes");
  EXPECT_EQ(event.cells[1].score, 9.0);
  EXPECT_FALSE(event.acknowledged);
}

TEST_F(StoreTest, AWrongShapeIsRefusedWhole) {
  const Network network = network_of("n", 4), other = network_of("n", 5);
  const SliceReport good = report_of(network, 300), bad = report_of(network, 600);
  const std::vector<SliceToStore> batch = {{&network, &good}, {&other, &bad}};
  const auto refused = store_.write(batch);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().message, "a slice of n has 16 cells instead of 25");
  EXPECT_FALSE(must(reader_.bounds("n")));
}

TEST_F(StoreTest, FiltersFindWhatTheyName) {
  const Network network = network_of("n", 4), other = network_of("m", 4);
  SliceReport report = report_of(network, 300);
  report.anomalies = {anomaly_at(300, 0, 1, 7.0), anomaly_at(300, 2, 1, 9.0)};
  Event event = event_of("e1", 300, 300);
  report.events = {{EventChange::kOpened, event}};
  write_one(store_, network, report);
  report = report_of(other, 600);
  report.anomalies = {anomaly_at(600, 0, 3, 6.0)};
  event = event_of("e2", 600, 600);
  event.shape = Shape::kOutage;
  event.open = false;
  event.closed = 900;
  report.events = {{EventChange::kClosed, event}};
  write_one(store_, other, report);

  const auto count = [&](const AnomalyFilter& filter) {
    return must(reader_.anomalies(filter, {})).items.size();
  };
  EXPECT_EQ(count({}), 3u);
  EXPECT_EQ(count({.network = "n"}), 2u);
  EXPECT_EQ(count({.network = "absent"}), 0u);
  EXPECT_EQ(count({.origin = "N0"}), 2u);
  EXPECT_EQ(count({.origin = "N0", .destination = "N1"}), 1u);
  EXPECT_EQ(count({.from = 600}), 1u);
  EXPECT_EQ(count({.to = 600}), 2u);
  EXPECT_EQ(count({.min_score = 7.0}), 2u);
  EXPECT_EQ(must(reader_.anomalies({}, {})).items.front().time, 600);
  const auto ids = [&](const EventFilter& filter) {
    std::string all;
    for (const StoredEvent& found : must(reader_.events(filter, {})).items) all += found.id;
    return all;
  };
  EXPECT_EQ(ids({}), "e2e1");
  EXPECT_EQ(ids({.network = "n"}), "e1");
  EXPECT_EQ(ids({.open = true}), "e1");
  EXPECT_EQ(ids({.open = false}), "e2");
  EXPECT_EQ(ids({.shape = Shape::kOutage}), "e2");
  EXPECT_EQ(ids({.from = 901}), "e1");
  EXPECT_EQ(ids({.to = 600}), "e1");
  EXPECT_EQ(must(reader_.networks()), (std::vector<std::string>{"m", "n"}));
  EXPECT_EQ(must(reader_.bounds("m"))->newest, 600);
}

TEST_F(StoreTest, PagesNeitherRepeatNorSkipWhileRowsAreAdded) {
  const Network network = network_of("n", 10);
  EpochSeconds now = 0;
  const auto add = [&] {
    now += 300;
    SliceReport report = report_of(network, now);
    for (int k = 0; k < 7; ++k) report.anomalies.push_back(anomaly_at(now, k, (k + 1) % 10, 7.0));
    report.events = {{EventChange::kOpened, event_of("a" + std::to_string(now), now, now)},
                     {EventChange::kOpened, event_of("b" + std::to_string(now), now, now)}};
    write_one(store_, network, report);
  };
  for (int t = 0; t < 20; ++t) add();
  for (const bool of_network : {false, true}) {
    std::set<std::string> seen;
    AnomalyFilter filter;
    filter.to = now + 1;
    if (of_network) filter.network = "n";
    PageRequest request{.limit = 9};
    const std::size_t before = std::size_t(now / 300) * 7;
    for (int pages = 0; pages < 1000; ++pages) {
      const auto page = must(reader_.anomalies(filter, request));
      for (const StoredAnomaly& anomaly : page.items) EXPECT_TRUE(seen.insert(anomaly.id).second);
      add();
      if (!page.next) break;
      request.cursor = *page.next;
    }
    EXPECT_EQ(seen.size(), before);
  }
  std::vector<std::string> ids;
  const std::size_t before = std::size_t(now / 300) * 2;
  PageRequest request{.limit = 3};
  for (int pages = 0; pages < 1000; ++pages) {
    const auto page = must(reader_.events({}, request));
    for (const StoredEvent& event : page.items) ids.push_back(event.id);
    add();
    if (!page.next) break;
    request.cursor = *page.next;
  }
  EXPECT_EQ(ids.size(), before);
  EXPECT_EQ(std::set<std::string>(ids.begin(), ids.end()).size(), before);
}

TEST_F(StoreTest, ABadCursorIsAReason) {
  const Network network = network_of("n", 4);
  for (int t = 1; t < 4; ++t) {
    SliceReport report = report_of(network, 300 * t);
    report.events = {{EventChange::kOpened, event_of("e" + std::to_string(t), 300 * t, 300 * t)}};
    write_one(store_, network, report);
  }
  const std::string good = must(reader_.events({}, {.limit = 1})).next.value();
  EXPECT_TRUE(reader_.events({}, {.limit = 1, .cursor = good}));
  EXPECT_FALSE(reader_.anomalies({}, {.cursor = good})) << "of another list";
  for (std::size_t i = 0; i < good.size(); ++i) {
    std::string bad = good;
    bad[i] = bad[i] == '1' ? '2' : '1';
    EXPECT_FALSE(reader_.events({}, {.cursor = bad})) << i;
    EXPECT_FALSE(reader_.events({}, {.cursor = good.substr(0, i + 0)}) && i > 0) << i;
  }
  const auto refused = reader_.events({}, {.cursor = "'; DROP TABLE events"});
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().kind, StoreError::Kind::kInvalid);
  EXPECT_EQ(refused.error().message, "the cursor is not one that this list gave out");
}

}  // namespace
}  // namespace outlierd::store
