// A notifier's thread against real sockets: delivery, receivers that are dead or slow, restart.

#include "daemon/notify/notifier.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

#include <future>
#include <thread>

#include "tests/support/temporary_directory.h"

namespace outlierd::notify {
namespace {

using namespace std::chrono_literals;

// A socket on a free port of loopback; receives within ten seconds or not at all.
class Socket {
 public:
  explicit Socket(int kind) : descriptor_(::socket(AF_INET, kind, 0)) {
    sockaddr_in at{};
    at.sin_family = AF_INET;
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof at;
    if (::bind(descriptor_, reinterpret_cast<sockaddr*>(&at), size) != 0) std::abort();
    ::getsockname(descriptor_, reinterpret_cast<sockaddr*>(&at), &size);
    port_ = ntohs(at.sin_port);
    const timeval limit{10, 0};
    ::setsockopt(descriptor_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  }
  ~Socket() { ::close(descriptor_); }
  Socket(const Socket&) = delete;
  Socket& operator=(const Socket&) = delete;

  void listen() { ::listen(descriptor_, 8); }
  std::string receive() {
    std::string text(65536, '\0');
    const ssize_t size = ::recv(descriptor_, text.data(), text.size(), 0);
    text.resize(std::size_t(std::max<ssize_t>(size, 0)));
    return text;
  }
  std::string accept_and_read_all() {
    const int peer = ::accept(descriptor_, nullptr, nullptr);
    std::string text;
    char byte = 0;
    while (::read(peer, &byte, 1) == 1) text += byte;
    ::close(peer);
    return text;
  }
  std::uint16_t port() const { return port_; }

 private:
  int descriptor_;
  std::uint16_t port_ = 0;
};

class NotifierTest : public testing::Test {
 protected:
  NotifierSettings to(Kind kind, Transport transport, std::uint16_t port) {
    NotifierSettings settings;
    settings.name = "the one";
    settings.kind = kind;
    settings.transport = transport;
    settings.host = "127.0.0.1";
    settings.path = "/";
    settings.port = port;
    settings.queue_file = folder_.path() / "notify" / "one.queue";
    settings.time_limit = 300ms;
    return settings;
  }
  NotifierPorts ports() {
    return {[this](const auto&, const std::string&) { ++failures_; }, [](const auto&) {},
            [this](const auto&, const std::string&) { ++queue_failures_; }};
  }
  static Notices notices(std::vector<EventNotice> events) {
    return std::make_shared<const std::vector<EventNotice>>(std::move(events));
  }
  static EventNotice event() {
    EventNotice event;
    event.id = "e1";
    event.network = "n";
    event.shape = "ddos";
    event.summary = "too much";
    event.opened = event.updated = 1'700'000'000;
    return event;
  }
  static TestOutcome outcome_of(Notifier& notifier) {
    std::promise<TestOutcome> outcome;
    notifier.test([&](TestOutcome one) { outcome.set_value(std::move(one)); });
    return outcome.get_future().get();
  }
  static bool soon(const std::function<bool()>& condition) {
    for (int k = 0; k < 1000 && !condition(); ++k) std::this_thread::sleep_for(10ms);
    return condition();
  }

  test::TemporaryDirectory folder_;
  std::atomic<int> failures_{0}, queue_failures_{0};
};

TEST_F(NotifierTest, TellsOfAnEventAndAfterARestartOfItsEnd) {
  Socket server(SOCK_DGRAM);
  const auto settings = to(Kind::kSyslog, Transport::kUdp, server.port());
  {
    Notifier notifier(settings, ports());
    notifier.on_events(notices({event()}));  // too early: begin() will say it
    notifier.begin(notices({event()}), true);
    EXPECT_NE(server.receive().find(" event-opened [outlierd@32473 state=\"firing\""),
              std::string::npos);
    EXPECT_TRUE(soon([&] { return notifier.counters().sent == 1; }));
    EXPECT_EQ(notifier.counters().queued, 0u);
    EXPECT_GT(notifier.counters().last_success, 0);
  }
  Notifier again(settings, ports());
  EventNotice closed = event();
  closed.closed = 1'700'000'600;
  again.begin(notices({closed}), true);
  EXPECT_NE(server.receive().find(" event-closed ["), std::string::npos);
  EXPECT_TRUE(soon([&] { return again.counters().sent == 1; }));
  EXPECT_EQ(failures_ + queue_failures_, 0);
}

TEST_F(NotifierTest, KeepsOnDiskWhatADeadReceiverDidNotTake) {
  std::uint16_t port = 0;
  {
    const Socket gone(SOCK_STREAM);
    port = gone.port();
  }
  const auto settings = to(Kind::kWebhook, Transport::kTcp, port);
  {
    Notifier notifier(settings, ports());
    notifier.begin(notices({}), true);
    notifier.on_events(notices({event()}));
    EXPECT_TRUE(soon([&] { return notifier.counters().failed >= 1; }));
    EXPECT_EQ(notifier.counters().queued, 1u);
    const TestOutcome outcome = outcome_of(notifier);
    EXPECT_FALSE(outcome.ok);
    EXPECT_EQ(outcome.detail, "Connection refused");
  }
  EXPECT_EQ(failures_, 1) << "said once";
  const Notifier again(settings, ports());
  EXPECT_TRUE(soon([&] { return again.counters().queued == 1; }));
}

TEST_F(NotifierTest, GivesUpOnAReceiverThatDoesNotAnswerInTime) {
  Socket server(SOCK_STREAM);
  server.listen();  // the kernel connects; nobody reads
  Notifier notifier(to(Kind::kAlertmanager, Transport::kTcp, server.port()), ports());
  const TestOutcome outcome = outcome_of(notifier);
  EXPECT_FALSE(outcome.ok);
  EXPECT_EQ(outcome.detail, "no answer in time");
  EXPECT_GE(outcome.seconds, 0.3);
}

TEST_F(NotifierTest, FramesSyslogOverTcpByItsLength) {
  Socket server(SOCK_STREAM);
  server.listen();
  Notifier notifier(to(Kind::kSyslog, Transport::kTcp, server.port()), ports());
  notifier.begin(notices({event()}), true);
  const std::string text = server.accept_and_read_all();
  const std::size_t space = text.find(' ');
  ASSERT_NE(space, std::string::npos);
  EXPECT_EQ(text.substr(0, space), std::to_string(text.size() - space - 1));
  EXPECT_EQ(text.substr(space + 1, 6), "<26>1 ");
}

TEST_F(NotifierTest, SendsOnThoughItsQueueCannotBeWritten) {
  Socket server(SOCK_DGRAM);
  auto settings = to(Kind::kSyslog, Transport::kUdp, server.port());
  settings.queue_file = "/proc/no-such-folder/one.queue";
  Notifier notifier(settings, ports());
  notifier.begin(notices({event()}), true);
  EXPECT_NE(server.receive().find("event-opened"), std::string::npos);
  EXPECT_TRUE(soon([&] { return queue_failures_ == 1; }));
}

}  // namespace
}  // namespace outlierd::notify
