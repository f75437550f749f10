#include "daemon/worker/group_commit.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <chrono>

namespace outlierd::worker {
namespace {

using Positions = std::vector<std::optional<std::uint64_t>>;

TEST(GroupCommit, AnswersEachRecordInOrderWithItsPosition) {
  boost::asio::io_context network;
  auto work = boost::asio::make_work_guard(network);
  std::uint64_t position = 0;
  std::vector<std::size_t> groups;
  Positions answered;
  {
    GroupCommit commit(
        network.get_executor(),
        [&](const std::vector<GroupCommit::Record>& records) {
          groups.push_back(records.size());
          std::this_thread::sleep_for(std::chrono::milliseconds(1));
          const std::uint64_t first = position;
          position += records.size();
          return GroupCommit::Outcome{first, ""};
        },
        [](const std::string&, std::size_t) { FAIL(); });
    for (int k = 0; k < 500; ++k)
      commit.submit(GroupCommit::Record(10), [&](auto at) {
        answered.push_back(at);
        if (answered.size() == 500) work.reset();
      });
    network.run();
    EXPECT_EQ(commit.pending_bytes(), 0u);
  }
  ASSERT_EQ(answered.size(), 500u);
  for (std::size_t k = 0; k < 500; ++k) ASSERT_EQ(answered[k], k);
  EXPECT_LT(groups.size(), 100u);  // a group gathers while another is written
}

TEST(GroupCommit, SaysWhenARecordIsNotDurableAndGoesOn) {
  boost::asio::io_context network;
  bool broken = true;
  Positions answered;
  std::vector<std::string> failures;
  GroupCommit commit(
      network.get_executor(),
      [&](const std::vector<GroupCommit::Record>&) {
        return broken ? GroupCommit::Outcome{std::nullopt, "disk full"}
                      : GroupCommit::Outcome{7, ""};
      },
      [&](const std::string& error, std::size_t) { failures.push_back(error); });
  const auto answer_one = [&] {
    auto work = boost::asio::make_work_guard(network);
    commit.submit(GroupCommit::Record(1), [&](auto at) {
      answered.push_back(at);
      work.reset();
    });
    network.run();
    network.restart();
  };
  answer_one();
  broken = false;
  answer_one();
  EXPECT_EQ(answered, (Positions{std::nullopt, 7}));
  EXPECT_EQ(failures, std::vector<std::string>{"disk full"});
}

TEST(GroupCommit, WritesWhatWasSubmittedBeforeItEnds) {
  boost::asio::io_context network;
  std::size_t written = 0;
  {
    GroupCommit commit(
        network.get_executor(),
        [&](const std::vector<GroupCommit::Record>& records) {
          std::this_thread::sleep_for(std::chrono::milliseconds(2));
          written += records.size();
          return GroupCommit::Outcome{0, ""};
        },
        [](const std::string&, std::size_t) {});
    for (int k = 0; k < 50; ++k) commit.submit(GroupCommit::Record(1), {});
  }
  EXPECT_EQ(written, 50u);
}

}  // namespace
}  // namespace outlierd::worker
