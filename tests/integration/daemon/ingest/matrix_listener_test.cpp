#include "daemon/ingest/matrix_listener.h"

#include <gtest/gtest.h>

#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/ssl/context.hpp>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <future>
#include <thread>

#include "tests/support/line_client.h"
#include "tests/support/temporary_directory.h"

namespace outlierd::ingest {
namespace {

using namespace std::chrono_literals;
using test::LineClient;

// A listener on a network thread of its own; lines are echoed unless a test says otherwise.
class MatrixListenerTest : public testing::Test {
 protected:
  void listen(ListenerOptions options = {}, MatrixListener::MayIngest may_ingest = {}) {
    if (options.address.host.empty()) options.address.host = "127.0.0.1";
    if (!may_ingest) may_ingest = [](std::string_view, bool) { return true; };
    listener_.emplace(
        network_.get_executor(), options, tls_,
        [this](std::string_view line, std::uint64_t number, MatrixListener::Answer answer) {
          return on_line_(line, number, std::move(answer));
        },
        std::move(may_ingest));
    thread_ = std::thread([this] { network_.run(); });
  }
  void on_network(const std::function<void()>& f) {
    std::promise<void> done;
    boost::asio::post(network_, [&] {
      f();
      done.set_value();
    });
    done.get_future().wait();
  }
  void stop() {
    if (!thread_.joinable()) return;
    std::promise<void> done;
    boost::asio::post(network_, [&] { listener_->stop([&] { done.set_value(); }); });
    done.get_future().wait();
    thread_.join();
  }
  ~MatrixListenerTest() override { stop(); }

  boost::asio::io_context network_;
  std::shared_ptr<boost::asio::ssl::context> tls_;
  std::optional<MatrixListener> listener_;
  MatrixListener::OnLine on_line_ = [](std::string_view line, std::uint64_t number,
                                       const MatrixListener::Answer& answer) -> const Backlog* {
    answer(std::to_string(number) + ":" + std::string(line));
    return nullptr;
  };
  std::thread thread_;
};

TEST_F(MatrixListenerTest, AnswersEveryLineHoweverTheBytesArrive) {
  listen();
  LineClient client = LineClient::tcp(listener_->port());
  client.send("one\ntw");
  EXPECT_EQ(client.line(), "1:one");
  client.send("o\r\n\nfour");
  EXPECT_EQ(client.line(), "2:two");
  client.finish();
  EXPECT_EQ(client.line(), "4:four");
  EXPECT_TRUE(client.at_end());
}

TEST_F(MatrixListenerTest, AnswersInTheOrderOfTheLinesWhenTheyAreReadyInAnother) {
  std::vector<MatrixListener::Answer> waiting;
  on_line_ = [&](std::string_view, std::uint64_t, MatrixListener::Answer answer) {
    waiting.push_back(std::move(answer));
    if (waiting.size() == 3)
      for (std::size_t k : {2u, 0u, 1u}) waiting[k](std::to_string(k));
    return static_cast<const Backlog*>(nullptr);
  };
  listen();
  LineClient client = LineClient::tcp(listener_->port());
  client.send("a\nb\nc\n");
  for (const char* expected : {"0", "1", "2"}) EXPECT_EQ(client.line(), expected);
}

TEST_F(MatrixListenerTest, ALineTooLongCostsThatLineAndItsMemoryIsBounded) {
  listen({.max_line = 1000});
  LineClient client = LineClient::tcp(listener_->port());
  client.send("ok\n" + std::string(5000000, 'x') + "\nok again\n" + std::string(1000, 'y') + "\n");
  EXPECT_EQ(client.line(), "1:ok");
  EXPECT_EQ(client.line(), R"({"ok":false,"line":2,"error":"line longer than 1000 bytes"})");
  EXPECT_EQ(client.line(), "3:ok again");
  EXPECT_EQ(client.line().size(), 1002u);
}

TEST_F(MatrixListenerTest, PastTheLimitAConnectionIsToldSoAndClosed) {
  listen({.max_connections = 2});
  LineClient first = LineClient::tcp(listener_->port()),
             second = LineClient::tcp(listener_->port());
  first.send("a\n"), second.send("b\n");
  EXPECT_EQ(first.line(), "1:a");
  EXPECT_EQ(second.line(), "1:b");
  LineClient third = LineClient::tcp(listener_->port());
  EXPECT_EQ(third.line(), R"({"ok":false,"line":0,"error":"too many connections"})");
  EXPECT_TRUE(third.at_end());
}

TEST_F(MatrixListenerTest, WhereTokensAreInForceTheFirstLineIsOne) {
  listen({}, [](std::string_view token, bool) { return token == "sesame"; });
  LineClient good = LineClient::tcp(listener_->port());
  good.send("{\"token\":\"sesame\"}\nhello\n");
  EXPECT_EQ(good.line(), R"({"ok":true})");
  EXPECT_EQ(good.line(), "2:hello");
  LineClient bad = LineClient::tcp(listener_->port());
  bad.send("{\"token\":\"guess\"}\nhello\n");
  EXPECT_EQ(bad.line(), R"({"ok":false,"line":1,"error":"this token may not send matrices"})");
  EXPECT_EQ(bad.line(), "");
  LineClient none = LineClient::tcp(listener_->port());
  none.send("hello\n");
  EXPECT_EQ(none.line(),
            R"({"ok":false,"line":1,"error":"the first line must be {\"token\":\"...\"}"})");
}

TEST_F(MatrixListenerTest, WhoeverSaysNothingWhereATokenIsDueIsLetGo) {
  listen({.greeting_time = 1s}, [](std::string_view, bool) { return false; });
  LineClient silent = LineClient::tcp(listener_->port());
  EXPECT_TRUE(silent.at_end());
}

TEST_F(MatrixListenerTest, AFullBacklogPausesTheReader) {
  static Backlog backlog;  // the paused session looks at it until the listener is gone
  int taken = 0;
  on_line_ = [&](std::string_view, std::uint64_t, const MatrixListener::Answer& answer) {
    ++taken;
    backlog.full = true;
    answer("x");
    return &backlog;
  };
  listen();
  LineClient client = LineClient::tcp(listener_->port());
  client.send("1\n2\n3\n");
  EXPECT_EQ(client.line(), "x");
  std::this_thread::sleep_for(20ms);
  on_network([&] { EXPECT_EQ(taken, 1); });
  on_network([&] { backlog.full = false; });
  EXPECT_EQ(client.line(), "x");
}

TEST_F(MatrixListenerTest, StoppingGivesTheAnswersUnderWay) {
  std::vector<MatrixListener::Answer> waiting;
  on_line_ = [&](std::string_view, std::uint64_t, MatrixListener::Answer answer) {
    waiting.push_back(std::move(answer));
    return static_cast<const Backlog*>(nullptr);
  };
  listen();
  LineClient client = LineClient::tcp(listener_->port());
  client.send("a\n");
  while (true) {
    std::size_t count = 0;
    on_network([&] { count = waiting.size(); });
    if (count == 1) break;
  }
  boost::asio::post(network_, [&] { listener_->stop([] {}); });
  on_network([&] { waiting[0]("late but true"); });
  EXPECT_EQ(client.line(), "late but true");
  EXPECT_TRUE(client.at_end());
  thread_.join();
}

TEST_F(MatrixListenerTest, ListensOnAUnixSocketAlsoWhereADeadOneWasLeft) {
  const std::string path =
      (std::filesystem::temp_directory_path() / ("outlierd-" + std::to_string(getpid()))).string();
  ListenerOptions options;
  options.address = {ListenAddress::Kind::kUnix, "", 0, path};
  {
    boost::asio::io_context other;
    MatrixListener left(other.get_executor(), options, nullptr, on_line_,
                        [](std::string_view, bool) { return true; });
  }
  ASSERT_TRUE(std::filesystem::exists(path));
  listen(options);
  LineClient client = LineClient::unix_socket(path);
  client.send("hello\n");
  EXPECT_EQ(client.line(), "1:hello");
  stop();
  EXPECT_FALSE(std::filesystem::exists(path));
}

// The openssl command is the client.
TEST_F(MatrixListenerTest, SpeaksTlsWhereItHasACertificate) {
  const test::TemporaryDirectory folder;
  const std::string at = folder.path().string();
  const std::string make =
      "openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 "
      "-nodes -days 2 -subj /CN=listener -keyout " +
      at + "/key -out " + at + "/certificate 2>/dev/null";
  if (std::system(make.c_str()) != 0) GTEST_SKIP() << "needs the openssl command";
  tls_ = std::make_shared<boost::asio::ssl::context>(boost::asio::ssl::context::tls_server);
  tls_->use_certificate_chain_file(at + "/certificate");
  tls_->use_private_key_file(at + "/key", boost::asio::ssl::context::pem);
  listen();
  const std::string ask =
      "(printf 'one\\ntwo\\n'; sleep 1) | timeout 2 openssl s_client -quiet "
      "-connect 127.0.0.1:" +
      std::to_string(listener_->port()) + " > " + at + "/answers 2>/dev/null";
  ASSERT_NE(std::system(ask.c_str()), -1);
  std::ifstream answers(at + "/answers");
  std::string first, second;
  std::getline(answers, first);
  std::getline(answers, second);
  EXPECT_EQ(first, "1:one");
  EXPECT_EQ(second, "2:two");
  // Whoever speaks in the clear is let go.
  LineClient plain = LineClient::tcp(listener_->port());
  plain.send("hello\n");
  while (!plain.line().empty()) {
  }
  on_network([&] { EXPECT_EQ(listener_->counters().lines, 2u); });
}

TEST_F(MatrixListenerTest, AnAddressInUseIsNamed) {
  listen();
  ListenerOptions options;
  options.address = {ListenAddress::Kind::kTcp, "127.0.0.1", listener_->port(), ""};
  boost::asio::io_context other;
  try {
    MatrixListener second(other.get_executor(), options, nullptr, on_line_,
                          [](std::string_view, bool) { return true; });
    FAIL();
  } catch (const std::runtime_error& error) {
    EXPECT_NE(std::string(error.what()).find("cannot listen on tcp://127.0.0.1:"),
              std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace outlierd::ingest
