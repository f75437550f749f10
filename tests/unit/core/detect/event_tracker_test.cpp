// Flagged cells in, events out: one incident of every shape, and what must not become one.

#include "core/detect/event_tracker.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "tests/support/traffic.h"

namespace outlierd::detect {
namespace {

constexpr float kThreshold = 4.0f;
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

// Slices by hand: all cells as expected (100), then some are not.
class Scene {
 public:
  explicit Scene(int nodes = 6, int close_after = 3)
      : network_(test::small_network(nodes)), tracker_(network_, close_after) {
    quiet();
  }
  void quiet() {
    const std::size_t cells = cell_count(network_.shape());
    observed_.assign(cells, 100.0f);
    expected_.assign(cells, 100.0f);
    score_.assign(cells, 0.5f);
    settled_.clear();
  }
  void set(int from, int to, float observed, float score) {
    const std::size_t cell = network_.cell(from, to);
    observed_[cell] = observed;
    score_[cell] = std::copysign(score, observed - expected_[cell]);
  }
  void hide(int from, int to) {
    observed_[network_.cell(from, to)] = score_[network_.cell(from, to)] = kNan;
  }
  void settle(int from, int to) { settled_.push_back(std::uint32_t(network_.cell(from, to))); }
  std::vector<EventUpdate> next() {
    std::vector<std::uint32_t> flagged;
    for (std::size_t cell = 0; cell < score_.size(); ++cell)
      if (std::abs(score_[cell]) > kThreshold) flagged.push_back(std::uint32_t(cell));
    time_ += 300;
    return tracker_.update({.time = time_,
                            .threshold = kThreshold,
                            .observed = observed_,
                            .expected = expected_,
                            .score = score_,
                            .flagged = flagged,
                            .settled = settled_,
                            .scored_cells = score_.size()});
  }
  Event only() {
    const auto updates = next();
    EXPECT_EQ(updates.size(), 1u);
    return updates.empty() ? Event{} : updates.front().event;
  }
  const EventTracker& tracker() const { return tracker_; }
  std::vector<Event> pending() const { return tracker_.pending_events(); }
  // Through bytes and back.
  void restart(std::uint32_t version = StateStream::kVersion) {
    ByteWriter out;
    StateStream writing(out, version);
    tracker_.exchange(writing);
    const std::vector<std::byte> bytes = out.take();
    ByteReader in(bytes);
    Rearrangement map;
    map.old_nodes = int(network_.nodes.size());
    map.old_metrics = 1;
    map.metric_from = {0};
    for (std::size_t i = 0; i < network_.nodes.size(); ++i) map.node_from.push_back(int(i));
    EventTracker other(network_, 3);
    StateStream reading(in, map, version);
    other.exchange(reading);
    ASSERT_FALSE(reading.failed());
    ASSERT_TRUE(in.finished());
    tracker_ = std::move(other);
  }
  EpochSeconds time() const { return time_; }

 private:
  Network network_;
  EventTracker tracker_;
  std::vector<float> observed_, expected_, score_;
  std::vector<std::uint32_t> settled_;
  EpochSeconds time_ = 1078099200;
};

TEST(EventShape, OnePairUpIsASpike) {
  Scene scene;
  scene.set(1, 2, 410.0f, 9.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kSpike);
  EXPECT_TRUE(event.up);
  EXPECT_EQ(event.summary, "N1 sends 4.1x the expected traffic to N2");
  EXPECT_DOUBLE_EQ(event.excess, 310.0);
  EXPECT_EQ(event.origins, std::vector<int>{1});
  EXPECT_EQ(event.destinations, std::vector<int>{2});
}

// Traffic of two pairs falls, and that of a third rises by more in a later bin: still under
// expected.
TEST(EventShape, TheExcessOfAnEventHasItsDirection) {
  Scene scene;
  scene.set(1, 2, 5.0f, 9.0f);
  const Event opened = scene.only();
  EXPECT_FALSE(opened.up);
  EXPECT_DOUBLE_EQ(opened.excess, -95.0);
  scene.set(1, 3, 10.0f, 9.0f);
  scene.set(1, 4, 125.0f, 7.0f);
  scene.next();
  scene.quiet();
  scene.set(1, 2, 5.0f, 9.0f);
  scene.set(1, 4, 600.0f, 7.0f);
  const auto updates = scene.next();
  ASSERT_EQ(updates.size(), 1u);
  const Event& event = updates[0].event;
  EXPECT_FALSE(event.up) << event.summary;
  EXPECT_DOUBLE_EQ(event.excess, -95.0 - 95.0 - 90.0 - 95.0);
}

TEST(EventShape, OnePairDownIsADrop) {
  Scene scene;
  scene.set(1, 2, 12.0f, 9.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kDrop);
  EXPECT_FALSE(event.up);
  EXPECT_EQ(event.summary, "traffic from N1 to N2 falls to 12% of the expected");
}

TEST(EventShape, ManyOriginsToOneDestinationAreADdos) {
  Scene scene;
  for (int from : {0, 1, 3, 5}) scene.set(from, 4, 300.0f, 6.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kDdos);
  EXPECT_EQ(event.summary, "4 origins send 3.0x the expected traffic to N4");
}

TEST(EventShape, OneOriginToManyDestinationsIsAScan) {
  Scene scene;
  for (int to : {0, 2, 3, 5}) scene.set(1, to, 200.0f, 6.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kScan);
  EXPECT_EQ(event.summary, "N1 sends 2.0x the expected traffic to 4 destinations");
}

TEST(EventShape, ANodeDownBothWaysIsOneOutage) {
  Scene scene;
  for (int other : {0, 1, 2, 4, 5}) {
    scene.set(3, other, 5.0f, 8.0f);
    scene.set(other, 3, 5.0f, 8.0f);
  }
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kOutage);
  EXPECT_EQ(event.summary, "traffic from and to N3 falls to 5% of the expected");
}

// Of a node that falls silent only its largest pairs are over the threshold.
TEST(EventShape, CellsNearlyOverTheThresholdInTheSameLineBelongToIt) {
  Scene scene;
  scene.set(2, 0, 10.0f, 6.0f);
  scene.set(2, 1, 10.0f, 6.0f);
  scene.set(3, 2, 20.0f, 3.0f);   // its other half
  scene.set(2, 5, 99.0f, 3.0f);   // small beside them
  scene.set(4, 1, 30.0f, 3.0f);   // in the column of one of them only
  scene.set(2, 4, 190.0f, 3.0f);  // the other way
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kOutage);
  EXPECT_EQ(event.cells.size(), 3u);
}

TEST(EventShape, OneFlaggedCellTakesNoneWithIt) {
  Scene scene;
  scene.set(2, 0, 900.0f, 6.0f);
  scene.set(2, 1, 500.0f, 3.0f);
  scene.set(2, 3, 500.0f, 3.0f);
  EXPECT_EQ(scene.only().cells.size(), 1u);
}

TEST(EventShape, TrafficThatChangesItsOriginIsAShift) {
  Scene scene;
  scene.set(1, 2, 20.0f, 8.0f);
  scene.set(4, 2, 180.0f, 8.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kShift);
  EXPECT_EQ(event.summary, "traffic to N2 moves from N1 to N4");
}

TEST(EventShape, EverywhereIsTheNetwork) {
  Scene scene;
  for (int from = 0; from < 6; ++from)
    for (int to = 0; to < 6; ++to)
      if (from != to) scene.set(from, to, 250.0f, 7.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.shape, Shape::kNetwork);
  EXPECT_EQ(event.summary, "traffic between 30 pairs rises to 2.5x the expected");
}

TEST(EventShape, WhatTheLevelRuleAcceptedIsALevel) {
  Scene scene;
  scene.set(1, 2, 250.0f, 9.0f);
  for (int bin = 0; bin < 5; ++bin) EXPECT_EQ(scene.only().shape, Shape::kSpike);
  scene.settle(1, 2);
  EXPECT_EQ(scene.only().shape, Shape::kLevel);
}

TEST(EventTracker, OpensOnceUpdatesAndClosesAfterQuietSlices) {
  Scene scene;
  EXPECT_TRUE(scene.next().empty());
  scene.set(1, 2, 400.0f, 9.0f);
  const auto opened = scene.next();
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].change, EventChange::kOpened);
  const std::string id = opened[0].event.id;
  EXPECT_EQ(id.size(), 16u);
  EXPECT_EQ(id.find_first_not_of("0123456789abcdef"), std::string::npos);
  scene.set(1, 2, 300.0f, 3.0f);  // under the threshold, above the level that keeps it open
  const auto updated = scene.next();
  ASSERT_EQ(updated.size(), 1u);
  EXPECT_EQ(updated[0].change, EventChange::kUpdated);
  EXPECT_EQ(updated[0].event.id, id);
  EXPECT_DOUBLE_EQ(updated[0].event.excess, 500.0);
  EXPECT_DOUBLE_EQ(updated[0].event.cells[0].observed, 400.0);  // of the peak
  scene.quiet();
  EXPECT_TRUE(scene.next().empty());
  EXPECT_TRUE(scene.next().empty());
  const auto closed = scene.next();
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].change, EventChange::kClosed);
  EXPECT_EQ(closed[0].event.id, id);
  EXPECT_EQ(closed[0].event.closed, scene.time());
  EXPECT_EQ(scene.tracker().open_count(), 0u);
}

TEST(EventTracker, OneIncidentThatSpreadsIsOneEvent) {
  Scene scene;
  scene.set(1, 2, 400.0f, 9.0f);
  const std::string id = scene.only().id;
  scene.set(3, 2, 400.0f, 9.0f);
  scene.set(4, 2, 400.0f, 9.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.id, id);
  EXPECT_EQ(event.shape, Shape::kDdos);
  for (const std::string& member : scene.tracker().flagged_events()) EXPECT_EQ(member, id);
}

TEST(EventTracker, WhatSharesNothingIsTwoEvents) {
  Scene scene;
  scene.set(0, 1, 400.0f, 9.0f);
  scene.set(2, 3, 400.0f, 9.0f);
  const auto updates = scene.next();
  ASSERT_EQ(updates.size(), 2u);
  EXPECT_NE(updates[0].event.id, updates[1].event.id);
}

TEST(EventTracker, NeitherOpensNorClosesForWhatWasNotObserved) {
  Scene scene;
  for (int to = 0; to < 6; ++to) scene.hide(2, to);
  EXPECT_TRUE(scene.next().empty());
  scene.quiet();
  scene.set(1, 2, 400.0f, 9.0f);
  scene.next();
  scene.hide(1, 2);
  for (int bin = 0; bin < 20; ++bin) EXPECT_TRUE(scene.next().empty());
  EXPECT_EQ(scene.tracker().open_count(), 1u);
}

// Between the level that opens (4) and the one that keeps open (2.4) an event neither closes nor
// opens again, however often the score goes to and fro.
TEST(EventTracker, AnEventDoesNotFlap) {
  Scene scene;
  int opened = 0, closed = 0;
  for (int bin = 0; bin < 60; ++bin) {
    scene.quiet();
    if (bin % 3 == 0) scene.set(1, 2, 400.0f, 4.1f);
    if (bin % 3 == 1) scene.set(1, 2, 350.0f, 2.5f);  // every third bin is quiet
    for (const EventUpdate& update : scene.next()) {
      opened += update.change == EventChange::kOpened;
      closed += update.change == EventChange::kClosed;
    }
  }
  EXPECT_EQ(opened, 1);
  EXPECT_EQ(closed, 0);
  EXPECT_TRUE(scene.pending().empty());
}

TEST(PendingEvents, WhatIsOverTheThresholdOpensAtOnce) {
  Scene scene;
  scene.set(1, 2, 400.0f, 4.1f);
  const Event event = scene.only();
  EXPECT_TRUE(event.open);
  EXPECT_FALSE(event.pending);
  EXPECT_EQ(event.since, event.opened);
  EXPECT_TRUE(scene.pending().empty());
}

TEST(PendingEvents, WhatIsNearlyOverItIsPendingAndDroppedWhenCalm) {
  Scene scene;
  scene.set(1, 2, 300.0f, 3.5f);
  EXPECT_TRUE(scene.next().empty());
  ASSERT_EQ(scene.pending().size(), 1u);
  const Event pending = scene.pending()[0];
  EXPECT_TRUE(pending.pending);
  EXPECT_FALSE(pending.open);
  EXPECT_EQ(pending.since, scene.time());
  EXPECT_EQ(pending.summary, "N1 sends 3.0x the expected traffic to N2");
  scene.set(1, 2, 260.0f, 2.5f);  // no longer suspicious by itself, but not calm
  EXPECT_TRUE(scene.next().empty());
  ASSERT_EQ(scene.pending().size(), 1u);
  EXPECT_EQ(scene.pending()[0].id, pending.id);
  EXPECT_EQ(scene.pending()[0].updated, scene.time());
  scene.quiet();
  EXPECT_TRUE(scene.next().empty());
  EXPECT_TRUE(scene.pending().empty());
  EXPECT_EQ(scene.tracker().open_count(), 0u);
}

TEST(PendingEvents, AnEventKeepsSinceWhenItWasPending) {
  Scene scene;
  scene.set(1, 2, 300.0f, 3.5f);
  scene.next();
  const EpochSeconds since = scene.time();
  scene.next();
  scene.restart();  // is remembered
  ASSERT_EQ(scene.pending().size(), 1u);
  scene.set(1, 2, 400.0f, 6.0f);
  const auto updates = scene.next();
  ASSERT_EQ(updates.size(), 1u);
  EXPECT_EQ(updates[0].change, EventChange::kOpened);
  EXPECT_EQ(updates[0].event.since, since);
  EXPECT_EQ(updates[0].event.opened, scene.time());
  EXPECT_DOUBLE_EQ(updates[0].event.excess, 300.0);  // counted from when it was opened
  EXPECT_TRUE(scene.pending().empty());
  scene.restart();
  EXPECT_EQ(scene.only().since, since);
}

TEST(PendingEvents, AStateFromBeforeThereWereAnyIsRead) {
  Scene scene;
  scene.set(1, 2, 400.0f, 6.0f);
  const EpochSeconds opened = scene.only().opened;
  scene.restart(2);
  const Event event = scene.only();
  EXPECT_EQ(event.since, opened);
  EXPECT_EQ(event.opened, opened);
}

TEST(PendingEvents, ACalmSliceInBetweenMakesItAnotherMatter) {
  Scene scene;
  scene.set(1, 2, 300.0f, 3.5f);
  scene.next();
  scene.quiet();
  scene.next();
  scene.set(1, 2, 400.0f, 6.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.since, scene.time());
}

TEST(PendingEvents, TheOtherDirectionIsAnotherMatter) {
  Scene scene;
  scene.set(1, 2, 10.0f, 3.5f);
  scene.next();
  scene.set(1, 2, 400.0f, 6.0f);
  const Event event = scene.only();
  EXPECT_EQ(event.since, scene.time());
  EXPECT_TRUE(scene.pending().empty());
}

TEST(PendingEvents, WhatIsSuspiciousNextToAnEventIsPartOfIt) {
  Scene scene;
  scene.set(1, 2, 400.0f, 6.0f);
  scene.set(1, 4, 300.0f, 3.5f);  // the same origin
  scene.set(3, 5, 300.0f, 3.5f);  // nothing in common
  scene.set(3, 0, 300.0f, 3.5f);
  const Event event = scene.only();
  EXPECT_EQ(event.cells.size(), 1u);  // it has what was flagged, as before
  ASSERT_EQ(scene.pending().size(), 1u);
  EXPECT_EQ(scene.pending()[0].origins, std::vector<int>{3});
  EXPECT_EQ(scene.pending()[0].destinations, (std::vector<int>{0, 5}));
}

TEST(PendingEvents, WhatWasNotObservedIsNotCalmButNotForLong) {
  Scene scene;
  scene.set(1, 2, 300.0f, 3.5f);
  scene.next();
  scene.hide(1, 2);
  scene.next();
  scene.next();
  EXPECT_EQ(scene.pending().size(), 1u);
  scene.next();
  EXPECT_TRUE(scene.pending().empty());
}

TEST(PendingEvents, TheirNumberIsBounded) {
  Scene scene(240);
  for (int node = 0; node < 240; ++node) scene.set(node, node, 300.0f, 3.5f);
  EXPECT_TRUE(scene.next().empty());
  EXPECT_EQ(scene.pending().size(), kMostPending);
  for (int from = 0; from < 240; ++from)
    for (int to = 0; to < 240; ++to) scene.set(from, to, 300.0f, 3.9f);
  EXPECT_TRUE(scene.next().empty());
  EXPECT_LE(scene.pending().size(), kMostPending);
  for (const Event& event : scene.pending()) EXPECT_LE(event.cells.size(), 100u);
}

TEST(EventTracker, AnIdDependsOnNamesNotOnTheirOrder) {
  Network network = test::small_network(3), turned = network;
  std::reverse(turned.nodes.begin(), turned.nodes.end());
  std::vector<std::string> ids;
  for (const Network& named : {network, turned}) {
    EventTracker tracker(named, 3);
    std::vector<float> observed(9, 400.0f), expected(9, 100.0f), score(9, 0.0f);
    const int from = named.nodes[0] == "N0" ? 0 : 2, to = 1;
    const std::vector<std::uint32_t> flagged = {std::uint32_t(named.cell(from, to))};
    score[flagged[0]] = 9.0f;
    ids.push_back(tracker
                      .update({.time = 600,
                               .threshold = kThreshold,
                               .observed = observed,
                               .expected = expected,
                               .score = score,
                               .flagged = flagged,
                               .settled = {},
                               .scored_cells = 9})
                      .at(0)
                      .event.id);
  }
  EXPECT_EQ(ids[0], ids[1]);
}

}  // namespace
}  // namespace outlierd::detect
