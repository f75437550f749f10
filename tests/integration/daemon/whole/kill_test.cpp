// kill -9 at random moments of a push: nothing that was answered is lost, nothing is learned twice.

#include <gtest/gtest.h>

#include <thread>

#include "core/traffic/time_text.h"
#include "tests/support/daemon_process.h"
#include "tests/support/line_client.h"
#include "tests/support/random.h"
#include "tests/support/temporary_directory.h"

namespace outlierd {
namespace {

using namespace std::chrono_literals;
using test::DaemonProcess;
using test::LineClient;

constexpr int kKills = 200;
constexpr int kBins = 3000;

// Events, and every bin of two cells with what was expected and how it was scored.
std::string all_that_is_known(const DaemonProcess& daemon) {
  std::string known = daemon.get("/api/v1/events?limit=1000");
  for (const char* cell : {"origin=A&destination=C", "origin=F&destination=B"})
    known += daemon.get("/api/v1/networks/n/series?" + std::string(cell) + "&from=" +
                        time_text(test::bin_time(0)) + "&to=" + time_text(test::bin_time(kBins)));
  return known;
}

// Sends from `first` on until the connection ends or all is sent; the first bin not answered.
int push(const std::string& path, int first) {
  int answered = first;
  try {
    LineClient client = LineClient::unix_socket(path);
    constexpr int kAhead = 4;
    int sent = first;
    while (answered < kBins) {
      while (sent < kBins && sent < answered + kAhead) client.send(test::matrix_line(sent++));
      const std::string answer = client.line();
      if (answer.empty()) break;
      if (answer.find("\"ok\":true") == std::string::npos) {
        ADD_FAILURE() << "bin " << answered << ": " << answer;
        break;
      }
      ++answered;
    }
  } catch (const std::exception&) {
    // the daemon is gone: what was not answered is sent again
  }
  return answered;
}

TEST(KillMinusNine, LosesNothingThatWasAnsweredAndDoublesNothing) {
  test::TemporaryDirectory folder;
  std::filesystem::create_directories(folder.path() / "plain");
  std::filesystem::create_directories(folder.path() / "killed");
  std::string expected;
  std::chrono::duration<double> undisturbed{};
  {
    DaemonProcess daemon(OUTLIERD, folder.path() / "plain");
    daemon.start();
    const auto begun = std::chrono::steady_clock::now();
    ASSERT_EQ(push(daemon.socket_path(), 0), kBins);
    undisturbed = std::chrono::steady_clock::now() - begun;
    ASSERT_EQ(daemon.terminate(), 0) << daemon.log();
    daemon.start();
    expected = all_that_is_known(daemon);
  }
  ASSERT_NE(expected.find("\"id\""), std::string::npos) << "the test data has no event in it";

  DaemonProcess daemon(OUTLIERD, folder.path() / "killed");
  daemon.extra = ", snapshot_every: 100ms";
  test::Random random(11);
  int next = 0, kills = 0, kills_in_the_middle = 0;
  while (next < kBins || kills < kKills) {
    daemon.start();
    // On average a hundredth of the whole, however quick the disk is.
    const auto patience = random.uniform() * undisturbed * 2 / 100;
    std::thread killer([&] {
      std::this_thread::sleep_for(patience);
      daemon.signal(SIGKILL);
    });
    // Near the end of the data there must be something left to interrupt.
    const int reached = push(daemon.socket_path(), std::min(next, kBins - 1));
    next = std::max(next, reached);
    killer.join();
    daemon.kill();
    ++kills;
    kills_in_the_middle += next < kBins;
  }
  EXPECT_GE(kills_in_the_middle, kKills / 4);
  daemon.start();
  EXPECT_EQ(all_that_is_known(daemon), expected);
  EXPECT_EQ(daemon.log().find("error"), std::string::npos) << daemon.log();
}

}  // namespace
}  // namespace outlierd
