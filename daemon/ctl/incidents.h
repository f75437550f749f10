#pragma once
// Labelled anomalies: what they are, how large and where they are drawn, how they change traffic.
//
// Two profiles. Subtle: sized by each pair's own robust spread (3 to 30 of it), so that some are
// deliberately hard. Material: what an operator calls an incident, 1 to 10 % of the network's
// traffic. The first 40 % of a stretch stays clean; incidents do not overlap in time.
//
// Pure and seeded. An incident changes a row by that row alone, so traffic may be a stream.

#include <cstddef>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "daemon/ctl/random.h"
#include "daemon/ctl/traffic_csv.h"

namespace outlierd::ctl {

enum class IncidentKind { kSpike, kDdos, kFlash, kScan, kOutage, kShift, kRamp, kDip, kStep };
inline constexpr int kIncidentKinds = 9;
const char* name_of(IncidentKind kind);
std::optional<IncidentKind> incident_named(std::string_view name);

enum class Profile { kSubtle, kMaterial };
const char* name_of(Profile profile);
std::optional<Profile> profile_named(std::string_view name);

// What is usual, per column: the sizes of incidents are drawn from it.
struct TrafficLevels {
  std::vector<double> median;
  std::vector<double> spread;  // of the bin-to-bin noise, at least 2 % of the median
  double total = 0.0;          // of the network in a bin, the median
};
// rows: NaN = not observed.
TrafficLevels measure_levels(const std::vector<std::vector<double>>& rows, std::size_t columns);

struct Incident {
  IncidentKind kind = IncidentKind::kSpike;
  std::size_t first_bin = 0, bins = 1;
  double size = 0.0;  // subtle: in spreads; material: share of the network; of a loss: share lost
  std::vector<std::size_t> columns;  // of a shift: from, to
  std::vector<double> added;         // at the peak, one a column; empty where something is lost
  double kept = 1.0;                 // what is left of the columns of a loss, of a shift's `from`
};

// Changes what the incident changes in this bin; cells not observed stay so.
void apply(const Incident& incident, std::size_t bin, std::span<double> row);

struct IncidentPlan {
  std::size_t bins = 0;
  int bin_seconds = 300;
  double per_day = 3.0;  // over the part that is not clean
  Profile profile = Profile::kSubtle;
  std::size_t at_least = 0;  // incidents to try for even if per_day asks for fewer
  std::size_t first_possible_bin() const { return std::size_t(0.4 * double(bins)); }
};

class IncidentPlanner {
 public:
  IncidentPlanner(const TrafficColumns& columns, const TrafficLevels& levels, IncidentPlan plan,
                  Random& random);

  // The kinds in turn, in order of time. One that finds no place or no pairs is left out.
  std::vector<Incident> plan();
  // One chosen incident of a chosen share of the network's traffic, whatever else there is; nothing
  // when the network has no pairs for it.
  std::optional<Incident> single(IncidentKind kind, std::size_t first_bin, double share);

 private:
  std::size_t draw_length(IncidentKind kind);
  std::optional<std::size_t> draw_place(std::size_t length);
  bool draw_effect(Incident& incident);
  bool add_to_one(Incident& incident);
  bool add_to_destination(Incident& incident);
  bool add_from_origin(Incident& incident);
  bool lose_node(Incident& incident);
  bool lose_pair(Incident& incident);
  bool move_pair(Incident& incident);
  template <class T>
  std::optional<T> choose(const std::vector<T>& from);

  const TrafficColumns& columns_;
  const TrafficLevels& levels_;
  IncidentPlan plan_;
  Random& random_;
  std::vector<std::size_t> live_, big_;  // columns
  std::vector<int> nodes_, big_nodes_;
  std::vector<bool> busy_;  // per bin
};

}  // namespace outlierd::ctl
