#include "daemon/ctl/incidents.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <limits>
#include <map>
#include <nlohmann/json.hpp>
#include <set>

#include "daemon/ctl/labels.h"
#include "daemon/ctl/times.h"
#include "tests/support/needs_data.h"
#include "tests/unit/daemon/ctl/label_schema.h"

namespace outlierd::ctl {
namespace {

using Json = nlohmann::json;

constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

TrafficColumns full_mesh(int nodes) {
  std::vector<std::string> names;
  for (int o = 0; o < nodes; ++o)
    for (int d = 0; d < nodes; ++d)
      names.push_back("n" + std::to_string(o) + ">n" + std::to_string(d));
  return *columns_of(names);
}

// Every pair 100, spread 5; total as it adds up.
TrafficLevels flat_levels(const TrafficColumns& columns) {
  TrafficLevels levels;
  levels.median.assign(columns.names.size(), 100.0);
  levels.spread.assign(columns.names.size(), 5.0);
  levels.total = 100.0 * double(columns.names.size());
  return levels;
}

IncidentPlan month(Profile profile) {
  return {.bins = 8640, .bin_seconds = 300, .per_day = 3.0, .profile = profile};
}

class BothProfiles : public testing::TestWithParam<Profile> {};

TEST_P(BothProfiles, PlanTheKindsInTurnAfterTheCleanPartWithoutOverlap) {
  const TrafficColumns columns = full_mesh(8);
  const TrafficLevels levels = flat_levels(columns);
  Random random(3);
  const auto incidents = IncidentPlanner(columns, levels, month(GetParam()), random).plan();
  // 3 a day over 60 % of 30 days is 54: six of each kind, some without a place.
  EXPECT_GE(incidents.size(), 45u);
  EXPECT_LE(incidents.size(), 54u);
  std::map<IncidentKind, int> kinds;
  std::size_t free_from = std::size_t(0.4 * 8640);
  for (const Incident& incident : incidents) {
    ++kinds[incident.kind];
    EXPECT_GE(incident.first_bin, free_from);
    free_from = incident.first_bin + incident.bins;
    EXPECT_LT(free_from, 8640u);
    EXPECT_FALSE(incident.columns.empty());
  }
  EXPECT_EQ(kinds.size(), 9u);
}

TEST_P(BothProfiles, GiveTheSamePlanForTheSameSeed) {
  const TrafficColumns columns = full_mesh(8);
  const TrafficLevels levels = flat_levels(columns);
  const auto plan = [&](std::uint64_t seed) {
    Random random(seed);
    std::vector<std::pair<std::size_t, double>> places;
    for (const Incident& i : IncidentPlanner(columns, levels, month(GetParam()), random).plan())
      places.emplace_back(i.first_bin, i.size);
    return places;
  };
  EXPECT_EQ(plan(9), plan(9));
  EXPECT_NE(plan(9), plan(10));
}

// What the incident adds to the network in its strongest bin, from traffic of 100 a pair.
double most_added(const Incident& incident, std::size_t columns) {
  double most = 0.0;
  for (std::size_t bin = incident.first_bin; bin < incident.first_bin + incident.bins; ++bin) {
    std::vector<double> row(columns, 100.0);
    apply(incident, bin, row);
    double change = 0.0;
    for (double value : row) change += value - 100.0;
    if (std::abs(change) > std::abs(most)) most = change;
  }
  return most;
}

TEST_P(BothProfiles, SizeIncidentsByTheRules) {
  const TrafficColumns columns = full_mesh(8);
  const TrafficLevels levels = flat_levels(columns);
  Random random(4);
  for (const Incident& incident :
       IncidentPlanner(columns, levels, month(GetParam()), random).plan()) {
    const double most = most_added(incident, columns.names.size());
    const bool material = GetParam() == Profile::kMaterial;
    switch (incident.kind) {
      case IncidentKind::kOutage:
        EXPECT_EQ(incident.columns.size(), 15u);  // a row and a column of 8 x 8
        EXPECT_NEAR(most, -1500.0 * incident.size, 1e-6);
        EXPECT_GE(incident.size, 0.7);
        break;
      case IncidentKind::kDip:
        EXPECT_NEAR(most, -100.0 * incident.size, 1e-6);
        EXPECT_GE(incident.size, 0.8);
        break;
      case IncidentKind::kShift:
        EXPECT_NEAR(most, 0.0, 1e-9);  // the total is kept
        EXPECT_EQ(columns.pairs[incident.columns[0]].destination,
                  columns.pairs[incident.columns[1]].destination);
        break;
      default:
        if (material) {
          EXPECT_GE(incident.size, 0.01);
          EXPECT_LE(incident.size, 0.10);
          // A flash of few bins may not reach its peak in any of them.
          if (incident.kind != IncidentKind::kFlash) {
            EXPECT_NEAR(most, incident.size * 6400.0, 1e-6);
          }
        } else {
          EXPECT_GE(incident.size, 3.0);
          EXPECT_LE(incident.size, 30.0);
        }
    }
    if (!material &&
        (incident.kind == IncidentKind::kSpike || incident.kind == IncidentKind::kStep)) {
      EXPECT_NEAR(most, incident.size * 5.0, 1e-9);
    }
    if (!material && incident.kind == IncidentKind::kScan) {
      EXPECT_NEAR(most, incident.size * 0.4 * 5.0 * double(incident.columns.size()), 1e-9);
    }
  }
}
INSTANTIATE_TEST_SUITE_P(Incidents, BothProfiles,
                         testing::Values(Profile::kSubtle, Profile::kMaterial),
                         [](const auto& profile) { return name_of(profile.param); });

TEST(Incidents, LeaveHolesAndOtherBinsAlone) {
  Incident incident;
  incident.kind = IncidentKind::kRamp;
  incident.first_bin = 10;
  incident.bins = 5;
  incident.columns = {1, 2};
  incident.added = {8.0, 8.0};
  std::vector<double> row = {1, 1, kNaN};
  apply(incident, 9, row);
  apply(incident, 15, row);
  apply(incident, 10, row);  // a ramp begins with nothing
  EXPECT_EQ(row[1], 1.0);
  apply(incident, 12, row);
  EXPECT_EQ(row[1], 5.0);  // half way
  apply(incident, 14, row);
  EXPECT_EQ(row[1], 13.0);
  EXPECT_EQ(row[0], 1.0);
  EXPECT_TRUE(std::isnan(row[2]));
}

TEST(Incidents, AFlashRisesInAQuarterAndDecays) {
  Incident incident;
  incident.kind = IncidentKind::kFlash;
  incident.bins = 12;
  incident.columns = {0};
  incident.added = {1.0};
  std::vector<double> shape;
  for (std::size_t bin = 0; bin < 12; ++bin) {
    std::vector<double> row = {0.0};
    apply(incident, bin, row);
    shape.push_back(row[0]);
  }
  EXPECT_EQ(shape[0], 0.0);
  EXPECT_EQ(shape[2], 1.0);
  EXPECT_EQ(shape[3], 1.0);
  EXPECT_NEAR(shape[11], std::exp(-3.0), 1e-12);
  EXPECT_TRUE(std::is_sorted(shape.begin() + 3, shape.end(), std::greater<>()));
}

TEST(MeasureLevels, TakesMediansAndTheSpreadOfTheNoise) {
  Random random(8);
  std::vector<std::vector<double>> rows;
  for (int k = 0; k < 20000; ++k)
    rows.push_back({1000.0 + 7.0 * random.normal(), k % 3 == 0 ? kNaN : 50.0, kNaN});
  const TrafficLevels levels = measure_levels(rows, 3);
  EXPECT_NEAR(levels.median[0], 1000.0, 0.3);  // 1.25 x 7 / sqrt(20000) = 0.06
  EXPECT_NEAR(levels.spread[0], 20.0, 1e-2);   // never below 2 % of the median
  EXPECT_EQ(levels.median[1], 50.0);
  EXPECT_EQ(levels.spread[1], 1.0);
  EXPECT_EQ(levels.median[2], 0.0);
  for (auto& row : rows) row[0] -= 900.0;
  EXPECT_NEAR(measure_levels(rows, 1).spread[0], 7.0, 0.3);
}

TEST(Labels, FollowTheSchemaTheScriptsFilesFollow) {
  const TrafficColumns columns = full_mesh(8);
  const TrafficLevels levels = flat_levels(columns);
  Random random(5);
  const IncidentPlan plan = month(Profile::kMaterial);
  const auto incidents = IncidentPlanner(columns, levels, plan, random).plan();
  LabelledSet set;
  set.source = "traffic.csv.gz";
  set.start = 1078099200;
  set.days = 30;
  set.seed = 5;
  set.profile = plan.profile;
  set.clean_until_row = plan.first_possible_bin();
  for (std::size_t k = 0; k < plan.bins; ++k)
    set.times.push_back(set.start + EpochSeconds(k) * 300);
  const Json labels = Json::parse(labels_json(set, incidents, columns.names));
  EXPECT_EQ(test::schema_problem(labels), "");
  ASSERT_EQ(labels["labels"].size(), incidents.size());
  EXPECT_EQ(labels["start"], "2004-03-01T00:00:00");
  EXPECT_EQ(labels["clean_until_bin"], 3456);
  for (const Json& label : labels["labels"]) {
    const auto start = *parse_time(label["start"].get<std::string>());
    EXPECT_EQ(start, set.start + 300 * label["first_bin"].get<EpochSeconds>());
    EXPECT_EQ(*parse_time(label["end"].get<std::string>()) - start,
              300 * label["bins"].get<EpochSeconds>());
  }
}

TEST(Labels, SchemaHoldsForWhatTheScriptMade) {
  OUTLIERD_NEEDS_DATA(folder);
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(folder / "injected"))
    if (entry.path().string().ends_with(".labels.json")) {
      EXPECT_EQ(test::schema_problem(Json::parse(std::ifstream(entry.path()))), "") << entry.path();
      ++files;
    }
  EXPECT_GE(files, 5);
}

TEST(Labels, SchemaNoticesWhatIsMissing) {
  EXPECT_EQ(test::schema_problem(Json::parse(R"({"source":"x"})")), "clean_until_bin is missing");
}

}  // namespace
}  // namespace outlierd::ctl
