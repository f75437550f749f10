// How fast and how small: printed, not asserted, as machines differ.

#include <gtest/gtest.h>

#include <chrono>
#include <cstdio>
#include <functional>

#include "daemon/store/reader.h"
#include "daemon/store/store.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/daemon/store/reports.h"

namespace outlierd::store {
namespace {

using test::must;
using test::network_of;
using test::report_of;

double seconds_of(const std::function<void()>& work) {
  const auto start = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

TEST(StoreRate, OfSmallNetworksInBatches) {
  test::TemporaryDirectory directory;
  Store store = must(Store::open(directory / "outlierd.db"));
  const Network network = network_of("abilene", 12);
  const int slices = 3000, batch = 100;
  std::vector<SliceReport> reports;
  for (int t = 0; t < slices; ++t) reports.push_back(report_of(network, 300 * t));
  const double seconds = seconds_of([&] {
    for (int first = 0; first < slices; first += batch) {
      std::vector<SliceToStore> items;
      for (int t = first; t < first + batch; ++t) items.push_back({&network, &reports[t]});
      must(store.write(items));
    }
  });
  const PruneResult size = must(store.prune(1 << 30, std::uint64_t{1} << 40));
  Reader reader = must(Reader::open(directory / "outlierd.db"));
  Series series;
  const double reading = seconds_of([&] {
    series = must(reader.series({.network = "abilene", .origin = "N1", .destination = "N2"}));
  });
  std::printf("12 nodes: %.0f slices a second, %.0f bytes a slice, series of %zu points %.1f ms\n",
              slices / seconds, double(size.used_bytes) / slices, series.points.size(),
              1e3 * reading);
  EXPECT_EQ(series.points.size(), std::size_t(slices));
}

TEST(StoreRate, OfALargeNetwork) {
  test::TemporaryDirectory directory;
  Store store = must(Store::open(directory / "outlierd.db"));
  const Network network = network_of("large", 1000);
  SliceReport report = report_of(network, 0);
  double slowest = 0.0;
  for (int t = 0; t < 4; ++t) {
    report.time = 300 * t;
    slowest = std::max(slowest, seconds_of([&] { test::write_one(store, network, report); }));
  }
  Reader reader = must(Reader::open(directory / "outlierd.db"));
  const double matrix = seconds_of([&] { must(reader.matrix("large", 300)); });
  const double series = seconds_of(
      [&] { must(reader.series({.network = "large", .origin = "N999", .destination = "N2"})); });
  std::printf(
      "1000 nodes: slowest write %.3f s, matrix read %.3f s, series %.2f ms a point, %.1f MB\n",
      slowest, matrix, 1e3 * series / 4,
      double(must(store.prune(1 << 30, std::uint64_t{1} << 40)).used_bytes) / 4e6);
}

TEST(StoreRate, OfAPageOfEvents) {
  test::TemporaryDirectory directory;
  Store store = must(Store::open(directory / "outlierd.db"));
  const Network network = network_of("abilene", 12);
  for (int t = 0; t < 200; ++t) {
    SliceReport report = report_of(network, 300 * t);
    report.events = {
        {EventChange::kOpened, test::event_of("e" + std::to_string(t), 300 * t, 300 * t)}};
    test::write_one(store, network, report);
  }
  Reader reader = must(Reader::open(directory / "outlierd.db"));
  const double seconds = seconds_of([&] {
    for (int i = 0; i < 2000; ++i)
      ASSERT_EQ(must(reader.events({}, {.limit = 20})).items.size(), 20u);
  });
  std::printf("20 events of 200: %.1f us a page\n", 1e6 * seconds / 2000);
}

}  // namespace
}  // namespace outlierd::store
