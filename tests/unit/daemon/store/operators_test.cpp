// What operators do: acknowledge, mark, silence; and the trail it leaves.

#include <gtest/gtest.h>

#include "daemon/store/reader.h"
#include "daemon/store/store.h"
#include "tests/support/temporary_directory.h"
#include "tests/unit/daemon/store/reports.h"

namespace outlierd::store {
namespace {

using test::event_of;
using test::must;
using test::network_of;
using test::report_of;

class Operators : public testing::Test {
 protected:
  void SetUp() override {
    report_.events = {{EventChange::kOpened, event_of("e1", 300, 300)}};
    test::write_one(store_, network_, report_);
  }

  std::vector<std::string> trail() {
    std::vector<std::string> lines;
    for (const AuditEntry& entry : must(reader_.audit({})).items)
      lines.push_back(std::to_string(entry.time) + " " + entry.who + " " + entry.action + " " +
                      entry.target + " " + entry.details);
    return lines;
  }

  test::TemporaryDirectory directory_;
  Store store_ = must(Store::open(directory_ / "outlierd.db"));
  Reader reader_ = must(Reader::open(directory_ / "outlierd.db"));
  Network network_ = network_of("n", 4);
  SliceReport report_ = report_of(network_, 300);
};

TEST_F(Operators, ActionsSurviveAReplay) {
  must(store_.acknowledge("e1", {"ann", "on it", 1000}));
  must(store_.mark("e1", {"expected", "bob", "a backup", 1100}));
  report_.events[0].event.updated = 600;
  test::write_one(store_, network_, report_);
  const StoredEvent event = must(reader_.event("e1"));
  ASSERT_TRUE(event.acknowledged);
  EXPECT_EQ(event.acknowledged->by, "ann");
  EXPECT_EQ(event.acknowledged->note, "on it");
  EXPECT_EQ(event.acknowledged->time, 1000);
  ASSERT_TRUE(event.feedback);
  EXPECT_EQ(event.feedback->mark, "expected");
  EXPECT_EQ(event.feedback->by, "bob");
  EXPECT_EQ(trail(), (std::vector<std::string>{"1100 bob mark expected e1 a backup",
                                               "1000 ann acknowledge e1 on it"}));
  must(store_.mark("e1", {"", "bob", "", 1200}));
  EXPECT_FALSE(must(reader_.event("e1")).feedback);
}

TEST_F(Operators, WhatDoesNotExistIsRefusedAndLeavesNoTrail) {
  EXPECT_EQ(store_.acknowledge("e9", {"ann", "", 1}).error().message, "there is no event e9");
  EXPECT_EQ(store_.mark("e9", {"expected", "ann", "", 1}).error().kind,
            StoreError::Kind::kNotFound);
  EXPECT_EQ(store_.mark("e1", {"wrong", "ann", "", 1}).error().message,
            "a mark is false_alarm or expected, not wrong");
  EXPECT_EQ(store_.expire_silence("s9", "ann", 1).error().message, "there is no silence s9");
  EXPECT_TRUE(trail().empty());
  EXPECT_TRUE(store_.writable()) << "a refusal leaves no transaction open";
}

TEST_F(Operators, ASilenceEndsButIsNotForgotten) {
  const Silence silence{"s1", "n", "", "", "N1", "ddos", 100, 5000, "ann", "works", 90, {}};
  must(store_.add_silence(silence));
  EXPECT_EQ(store_.add_silence(silence).error().kind, StoreError::Kind::kExists);
  const auto current = must(reader_.silences(1000, {}));
  ASSERT_EQ(current.items.size(), 1u);
  EXPECT_EQ(current.items[0].node, "N1");
  EXPECT_EQ(current.items[0].shape, "ddos");
  EXPECT_EQ(current.items[0].ends, 5000);
  EXPECT_TRUE(must(reader_.silences(5000, {})).items.empty());
  must(store_.expire_silence("s1", "bob", 2000));
  must(store_.expire_silence("s1", "bob", 3000));  // once is enough
  EXPECT_TRUE(must(reader_.silences(2500, {})).items.empty());
  ASSERT_EQ(must(reader_.silences({}, {})).items.size(), 1u);
  EXPECT_EQ(must(reader_.silences({}, {})).items[0].expired, 2000);
  EXPECT_EQ(trail(),
            (std::vector<std::string>{"2000 bob expire silence s1 ", "90 ann silence s1 works"}));
}

TEST_F(Operators, TheTrailIsReadInPages) {
  for (int i = 0; i < 10; ++i) must(store_.audit({i, "ann", "reload", std::to_string(i), ""}));
  PageRequest request{.limit = 4};
  std::string targets;
  for (;;) {
    const auto page = must(reader_.audit(request));
    for (const AuditEntry& entry : page.items) targets += entry.target;
    if (!page.next) break;
    request.cursor = *page.next;
    must(store_.audit({99, "bob", "reload", "x", ""}));
  }
  EXPECT_EQ(targets, "9876543210");
}

}  // namespace
}  // namespace outlierd::store
