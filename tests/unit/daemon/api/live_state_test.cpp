#include "daemon/api/live_state.h"

#include <gtest/gtest.h>

#include "daemon/api/json_names.h"
#include "tests/support/api_sample.h"
#include "tests/support/random.h"

namespace outlierd::api {
namespace {

class LiveStateTest : public testing::Test {
 protected:
  EpochSeconds now_ = 10000;
  LiveState live_{{.slice_bytes_each = 20000,
                   .slice_bytes = 30000,
                   .most_events = 10,
                   .event_bytes = 1 << 20,
                   .most_anomalies = 10},
                  [this] { return now_; }};
  const Network network_ = test::sample_network();

  void report(EpochSeconds time, std::vector<EventUpdate> events = {}) {
    SliceReport slice = test::sample_report(network_, time);
    slice.events = std::move(events);
    live_.on_report(network_.name, std::move(slice));
  }
  std::vector<std::string> ids(const EventQuery& query) const {
    std::vector<std::string> found;
    for (const LiveEvent* event : live_.events.list(query)) found.push_back(event->record.id);
    return found;
  }
};

Event closed(Event event, EpochSeconds at) {
  event.open = false;
  event.closed = at;
  return event;
}

TEST_F(LiveStateTest, KeepsTheLastSlicesWithinItsBytes) {
  live_.add_network(network_, {});
  for (int k = 1; k <= 200; ++k) report(300 * k);
  const LiveNetwork* live = live_.network("abilene");
  ASSERT_TRUE(live);
  EXPECT_EQ(live->last_slice, 60000);
  EXPECT_LE(live->slice_bytes, 20000u);
  EXPECT_GT(live->slices.size(), 5u);
  EXPECT_TRUE(live->slice_at(60000));
  EXPECT_FALSE(live->slice_at(59999));
  EXPECT_FALSE(live->slice_at(300));
  const std::size_t alone = live->slices.size();
  Network other = network_;
  other.name = "other";
  live_.add_network(other, {});
  EXPECT_LT(live->slices.size(), alone) << "two networks share what one had";
}

TEST_F(LiveStateTest, KeepsOneSliceHoweverLargeItIs) {
  const Network large = test::sample_network("large", 60);
  live_.add_network(large, {});
  for (int k = 1; k <= 3; ++k) live_.on_report("large", test::sample_report(large, 300 * k));
  EXPECT_EQ(live_.network("large")->slices.size(), 1u);
  EXPECT_TRUE(live_.network("large")->slice_at(900));
}

TEST_F(LiveStateTest, CountsTheBinsItIsBehind) {
  live_.add_network(network_, {});
  const LiveNetwork& live = *live_.network("abilene");
  EXPECT_FALSE(live_.bins_behind(live));
  report(9000);  // ends at 9300
  for (const auto& [clock, behind] :
       {std::pair{9000, 0}, {9300, 0}, {9599, 0}, {9600, 1}, {10300, 3}}) {
    now_ = clock;
    EXPECT_EQ(live_.bins_behind(live), behind) << clock;
  }
}

TEST_F(LiveStateTest, ShowsAnEventAsItStandsAndKeepsItsAcknowledgement) {
  live_.add_network(network_, {});
  report(300, {{EventChange::kOpened, test::sample_event("e1", 300)}});
  EXPECT_TRUE(live_.events.acknowledge("e1", {"me", "on it", 400}));
  EXPECT_FALSE(live_.events.acknowledge("e2", {}));
  report(600, {{EventChange::kClosed, closed(test::sample_event("e1", 300), 600)}});
  const LiveEvent* event = live_.events.find("e1");
  ASSERT_TRUE(event);
  EXPECT_FALSE(event->record.open);
  EXPECT_EQ(event->record.acknowledged->by, "me");
  EXPECT_EQ(live_.events.size(), 1u);
}

TEST_F(LiveStateTest, ListsEventsNewestFirstInPagesWithoutGapsOrDoubles) {
  live_.events.seed({}, true);
  live_.add_network(network_, {});
  for (int k = 0; k < 9; ++k)
    report(300 * (k + 1),
           {{EventChange::kOpened, test::sample_event("e" + std::to_string(k), 300 * (k / 2))}});
  EventQuery query;
  query.limit = 2;
  std::vector<std::string> all;
  for (int page = 0; page < 10; ++page) {
    auto found = live_.events.list(query);
    EXPECT_TRUE(live_.events.covers(query, found));
    const bool more = found.size() > query.limit;
    if (more) found.pop_back();
    for (const LiveEvent* event : found) all.push_back(event->record.id);
    if (!more) break;
    query.after = Place{found.back()->record.opened, found.back()->record.id};
  }
  EXPECT_EQ(all, (std::vector<std::string>{"e8", "e7", "e6", "e5", "e4", "e3", "e2", "e1", "e0"}));
}

TEST_F(LiveStateTest, FiltersEvents) {
  live_.add_network(network_, {});
  report(300, {{EventChange::kOpened, test::sample_event("a", 300)}});
  report(600, {{EventChange::kOpened, closed(test::sample_event("b", 600), 900)}});
  Event spike = test::sample_event("c", 900);
  spike.shape = Shape::kSpike;
  report(900, {{EventChange::kOpened, spike}});
  EventQuery query;
  query.open = true;
  EXPECT_EQ(ids(query), (std::vector<std::string>{"c", "a"}));
  query.shape = Shape::kSpike;
  EXPECT_EQ(ids(query), (std::vector<std::string>{"c"}));
  query = {};
  query.range = {300, 900};  // from inclusive, to exclusive
  EXPECT_EQ(ids(query), (std::vector<std::string>{"b", "a"}));
  query = {};
  query.network = "other";
  EXPECT_TRUE(ids(query).empty());
}

TEST_F(LiveStateTest, LetsOldClosedEventsGoAndSaysWhatItNoLongerCovers) {
  live_.events.seed({}, true);
  live_.add_network(network_, {});
  report(300, {{EventChange::kOpened, test::sample_event("open", 300)}});
  for (int k = 2; k <= 30; ++k)
    report(300 * k, {{EventChange::kOpened,
                      closed(test::sample_event("e" + std::to_string(k), 300 * k), 300 * k)}});
  live_.events.trim();
  EXPECT_EQ(live_.events.size(), 10u);
  EXPECT_TRUE(live_.events.find("open")) << "open events are never let go";
  EventQuery query;
  query.limit = 5;
  EXPECT_TRUE(live_.events.covers(query, live_.events.list(query)));
  query.limit = 20;
  EXPECT_FALSE(live_.events.covers(query, live_.events.list(query)));
  query.open = true;
  EXPECT_TRUE(live_.events.covers(query, live_.events.list(query)));
  query = {};
  query.range.from = 300 * 25;
  EXPECT_TRUE(live_.events.covers(query, live_.events.list(query)));
}

// Found by reading: a late event, older than all that are kept, was let go while it was in use.
TEST_F(LiveStateTest, GivesOutEventsThatLastUntilTheNextReport) {
  live_.add_network(network_, {});
  for (int k = 2; k <= 30; ++k)
    report(300 * k, {{EventChange::kOpened,
                      closed(test::sample_event("e" + std::to_string(k), 300 * k), 300 * k)}});
  SliceReport slice = test::sample_report(network_, 300 * 40);
  for (const char* id : {"x", "y"})
    slice.events.push_back({EventChange::kClosed, closed(test::sample_event(id, 1), 2)});
  const auto changes = live_.on_report("abilene", std::move(slice));
  ASSERT_EQ(changes.size(), 2u);
  EXPECT_EQ(changes[0].second->record.id, "x");
  EXPECT_EQ(changes[1].second->record.id, "y");
}

TEST_F(LiveStateTest, ShowsWhatARestoredPipelineKnows) {
  live_.add_network(network_, {});
  ModelSummary model;
  model.rank = 7;
  live_.set_progress("abilene", 9000, 0.75, 4.0, model);
  live_.events.seed({record_of(network_, test::sample_event("a", 300))}, true);
  live_.count_open_events();
  const LiveNetwork& live = *live_.network("abilene");
  EXPECT_EQ(live.last_slice, 9000);
  EXPECT_EQ(live.model.rank, 7);
  EXPECT_EQ(live.open_events, 1);
}

TEST_F(LiveStateTest, KnowsNothingOfThePastBeforeItIsSeeded) {
  live_.add_network(network_, {});
  report(300, {{EventChange::kOpened, test::sample_event("a", 300)}});
  EventQuery query;
  EXPECT_FALSE(live_.events.covers(query, live_.events.list(query)));
  live_.events.seed({record_of(network_, test::sample_event("b", 100))}, false);
  query.limit = 1;
  EXPECT_TRUE(live_.events.covers(query, live_.events.list(query)) == false)
      << "the seed's lowest may have neighbours";
  query.range.from = 200;
  EXPECT_TRUE(live_.events.covers(query, live_.events.list(query)));
}

TEST_F(LiveStateTest, SilencesWhatMatchesWhileItLasts) {
  EventRecord event = record_of(network_, test::sample_event("a", 300));  // N0, N2 -> N1
  Silence silence;
  silence.id = "s";
  silence.starts = 10000;
  silence.ends = 20000;
  silence.network = "abilene";
  silence.node = "N2";
  silence.shape = Shape::kDdos;
  live_.add_silence(silence);
  EXPECT_TRUE(live_.silenced(event));
  now_ = 20000;
  EXPECT_FALSE(live_.silenced(event));
  now_ = 9999;
  EXPECT_FALSE(live_.silenced(event));
  now_ = 15000;
  event.shape = Shape::kScan;
  EXPECT_FALSE(live_.silenced(event));
  event.shape = Shape::kDdos;
  EXPECT_TRUE(live_.expire_silence("s", now_));
  EXPECT_FALSE(live_.expire_silence("s", now_));
  EXPECT_FALSE(live_.silenced(event));
  silence.id = "pair";
  silence.node.reset();
  silence.origin = "N0";
  silence.destination = "N2";
  live_.add_silence(silence);
  EXPECT_FALSE(live_.silenced(event)) << "N2 is an origin, not a destination";
  silence.id = "right";
  silence.destination = "N1";
  live_.add_silence(silence);
  EXPECT_TRUE(live_.silenced(event));
}

TEST_F(LiveStateTest, ListsAnomaliesByFilter) {
  live_.anomalies.seed({}, true);
  live_.add_network(network_, {});
  for (int k = 1; k <= 20; ++k) {
    SliceReport slice = test::sample_report(network_, 300 * k);
    slice.anomalies.push_back(test::sample_anomaly(300 * k, k % 2, 1, double(k)));
    live_.on_report("abilene", std::move(slice));
  }
  AnomalyQuery query;
  query.origin = "N0";
  query.min_score = 15;
  const auto found = live_.anomalies.list(query);
  ASSERT_EQ(found.size(), 3u);
  EXPECT_EQ(found[0]->score, 20);
  EXPECT_EQ(found[2]->score, 16);
  EXPECT_FALSE(live_.anomalies.covers(query, found)) << "ten of twenty are left";
}

TEST_F(LiveStateTest, DropsSlicesOfAnotherShapeWhenTheNodesChange) {
  live_.add_network(network_, {});
  report(300);
  live_.add_network(network_, {.lateness_seconds = 5});
  EXPECT_EQ(live_.network("abilene")->slices.size(), 1u);
  EXPECT_EQ(live_.network("abilene")->settings.lateness_seconds, 5);
  live_.add_network(test::sample_network("abilene", 5), {});
  EXPECT_TRUE(live_.network("abilene")->slices.empty());
  live_.remove_network("abilene");
  report(600);
  EXPECT_FALSE(live_.network("abilene"));
}

}  // namespace
}  // namespace outlierd::api
