#include "core/traffic/operational_events.h"

#include <gtest/gtest.h>

#include "tests/support/flows.h"

namespace outlierd {
namespace {

using test::four;

TEST(OperationalEvents, OpenOnceAndCloseWhenItIsOver) {
  OperationalEvents events("n");
  const ExporterNotice silent{ExporterNews::kSilent, four(192, 0, 2, 1), 40.0};
  const auto opened = events.note(silent, {"A", "B", "C", "D", "E"}, 1000);
  ASSERT_EQ(opened.size(), 1u);
  EXPECT_EQ(opened[0].kind, "exporter_silent");
  EXPECT_EQ(opened[0].exporter, "192.0.2.1");
  EXPECT_EQ(opened[0].summary,
            "exporter 192.0.2.1 is silent: what enters at A, B, C and 2 more is not observed");
  EXPECT_FALSE(opened[0].closed);
  EXPECT_TRUE(events.note(silent, {}, 1001).empty());
  EXPECT_TRUE(events.note({ExporterNews::kBack, four(192, 0, 2, 2), 0.0}, {}, 1002).empty());
  EXPECT_TRUE(events.note({ExporterNews::kMapped, four(192, 0, 2, 1), 0.0}, {}, 1002).empty());
  const auto closed = events.note({ExporterNews::kBack, four(192, 0, 2, 1), 0.0}, {}, 1003);
  ASSERT_EQ(closed.size(), 1u);
  EXPECT_EQ(closed[0].id, opened[0].id);
  EXPECT_EQ(closed[0].closed, 1003);
  ASSERT_EQ(events.all().size(), 1u);
  EXPECT_NE(events.note(silent, {}, 2000).at(0).id, opened[0].id);
}

TEST(OperationalEvents, SayInPlainWordsWhatIsWrong) {
  OperationalEvents events("n");
  const auto summary = [&](ExporterNews news, double figure) {
    return events.note({news, four(192, 0, 2, 1), figure}, {"A"}, 1000).at(0).summary;
  };
  EXPECT_EQ(summary(ExporterNews::kLosing, 0.37),
            "37% of the records of exporter 192.0.2.1 are lost on the way: what enters at A is not "
            "observed");
  EXPECT_EQ(summary(ExporterNews::kClockOff, -95.0),
            "the clock of exporter 192.0.2.1 is 95 s behind");
  EXPECT_EQ(events.note({ExporterNews::kClockOff, four(192, 0, 2, 2), 7300.0}, {}, 1).at(0).summary,
            "the clock of exporter 192.0.2.2 is 2 hours ahead");
  EXPECT_EQ(summary(ExporterNews::kUnmapped, 0.42),
            "42% of the bytes of exporter 192.0.2.1 belong to no pair of nodes");
  EXPECT_EQ(summary(ExporterNews::kUnknownRate, 0.001),
            "less than 1% of the records of exporter 192.0.2.1 are left out: nobody says their "
            "sampling rate");
}

TEST(OperationalEvents, AnExporterThatIsForgottenSuffersFromNothing) {
  OperationalEvents events("n");
  events.note({ExporterNews::kSilent, four(192, 0, 2, 1), 40.0}, {}, 1000);
  events.note({ExporterNews::kClockOff, four(192, 0, 2, 1), 40.0}, {}, 1000);
  EXPECT_EQ(events.note({ExporterNews::kForgotten, four(192, 0, 2, 1), 0.0}, {}, 2000).size(), 2u);
}

TEST(OperationalEvents, AreBoundedAndTheOpenOnesStay) {
  OperationalEvents events("n", 10);
  for (int k = 0; k < 50; ++k)
    events.note({ExporterNews::kSilent, four(192, 0, 2, k), 40.0}, {}, 1000 + k);
  EXPECT_EQ(events.all().size(), 10u);
  EXPECT_EQ(events.all().front().exporter, "192.0.2.0");
  events.note({ExporterNews::kBack, four(192, 0, 2, 3), 0.0}, {}, 2000);
  EXPECT_EQ(events.note({ExporterNews::kSilent, four(192, 0, 2, 99), 40.0}, {}, 2001).size(), 1u);
  EXPECT_EQ(events.all().size(), 10u);
  for (const OperationalEvent& one : events.all()) EXPECT_FALSE(one.closed);
}

}  // namespace
}  // namespace outlierd
