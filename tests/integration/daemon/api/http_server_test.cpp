// The server over real sockets, with handlers of the test's own.

#include "daemon/api/http_server.h"

#include <gtest/gtest.h>

#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <stdexcept>

#include "tests/support/http_client.h"
#include "tests/support/net_thread.h"

namespace outlierd::api {
namespace {

using namespace std::chrono_literals;
using test::HttpClient;
using Times = std::chrono::steady_clock;

class HttpServerTest : public testing::Test {
 protected:
  void SetUp() override { start(); }
  void start() {
    net_.run([this] {
      server_ = std::make_unique<HttpServer>(
          net_.io, options_, [this](const Request& head) { return admit(head); },
          [this](std::string_view what) { errors_ += std::string(what) + "\n"; });
      const auto started = server_->start();
      if (!started) errors_ += started.error();
      port_ = server_->port();
    });
    ASSERT_NE(port_, 0) << errors_;
  }
  void restart() {
    net_.run([this] { server_.reset(); });
    start();
  }
  void TearDown() override {
    net_.run([this] { server_.reset(); });
  }
  HttpCounters counters() {
    return net_.run([this] { return server_->counters(); });
  }

  Admission admit(const Request& head) {
    Admission admission;
    admission.most_body_bytes = 100000;
    admission.route = head.path == "/echo" ? "/echo" : "other";
    admission.handle = [this](Request& request, const Reply& reply) { handle(request, reply); };
    if (head.path == "/refused") admission.refusal = problem(404, "no");
    if (head.path == "/thrown-early") throw std::runtime_error("thrown early");
    return admission;
  }

  void handle(Request& request, const Reply& reply) {
    if (request.path == "/echo")
      return reply(json_response(200, request.method + " " + request.query + " " + request.body));
    if (request.path == "/large") {
      Response response = json_response(200, std::string(3 << 20, 'x'));
      response.tagged = true;
      return reply(std::move(response));
    }
    if (request.path == "/throws") throw std::runtime_error("thrown");
    if (request.path == "/drops" || request.path == "/never") {
      if (request.path == "/never") kept_.push_back(reply);
      return;
    }
    if (request.path == "/later") {
      auto timer = std::make_shared<boost::asio::steady_timer>(net_.io, 100ms);
      timer->async_wait([timer, reply](const auto&) { reply(json_response(200, "later")); });
      return;
    }
    if (request.path == "/stream") {
      Response response;
      response.content_type = "text/event-stream";
      response.stream = [this](std::shared_ptr<Stream> stream) {
        stream->on_close = [this] { ++streams_closed_; };
        stream->write(std::make_shared<const std::string>("data: hello\n\n"));
        streams_.push_back(std::move(stream));
      };
      return reply(std::move(response));
    }
    reply(problem(404, "no"));
  }

  HttpOptions options_ = [] {
    HttpOptions options;
    options.port = 0;
    return options;
  }();
  test::NetThread net_;
  std::unique_ptr<HttpServer> server_;
  int port_ = 0;
  std::string errors_;
  std::vector<Reply> kept_;
  std::vector<std::shared_ptr<Stream>> streams_;
  int streams_closed_ = 0;
};

TEST_F(HttpServerTest, AnswersSeveralRequestsOnOneConnection) {
  HttpClient client(port_);
  for (int k = 0; k < 3; ++k) {
    const auto answer = client.get("/echo?k=" + std::to_string(k));
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->status, 200);
    EXPECT_EQ(answer->body, "GET k=" + std::to_string(k) + " ");
    EXPECT_EQ(answer->header("connection"), "");
    EXPECT_EQ(answer->header("x-content-type-options"), "nosniff");
  }
  EXPECT_EQ(counters().connections_accepted, 1u);
  EXPECT_EQ((counters().requests[{"GET", "/echo", 200}]), 3u);
}

TEST_F(HttpServerTest, AnswersPipelinedRequestsInOrder) {
  HttpClient client(port_);
  std::string all;
  for (int k = 0; k < 50; ++k) {
    const std::string path = k % 10 == 3 ? "/later" : "/echo?" + std::to_string(k);
    all += "GET " + path + " HTTP/1.1\r\nHost: x\r\n\r\n";
  }
  client.send(all);
  for (int k = 0; k < 50; ++k) {
    const auto answer = client.receive();
    ASSERT_TRUE(answer) << k;
    EXPECT_EQ(answer->body, k % 10 == 3 ? "later" : "GET " + std::to_string(k) + " ");
  }
}

TEST_F(HttpServerTest, ReadsARequestThatComesByteByByte) {
  HttpClient client(port_);
  for (char c : std::string("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\n\r\nabc"))
    client.send(std::string(1, c));
  EXPECT_EQ(client.receive()->body, "POST  abc");
}

TEST_F(HttpServerTest, ReadsChunkedBodies) {
  HttpClient client(port_);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\n4;x=y\r\ndefg\r\n0\r\n\r\n");
  EXPECT_EQ(client.receive()->body, "POST  abcdefg");
  EXPECT_EQ(client.get("/echo")->status, 200);
}

TEST_F(HttpServerTest, AnswersHeadWithoutBody) {
  HttpClient client(port_);
  const auto answer = client.ask("HEAD", "/echo");
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->header("content-length"), "6");
  EXPECT_EQ(client.get("/echo")->body, "GET  ");  // nothing stood in between
}

TEST_F(HttpServerTest, SaysContinueToWhoWaitsForIt) {
  HttpClient client(port_);
  client.send(
      "POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 3\r\nExpect: 100-continue\r\n\r\n");
  EXPECT_EQ(client.receive()->status, 100);
  client.send("abc");
  EXPECT_EQ(client.receive()->body, "POST  abc");
}

TEST_F(HttpServerTest, RefusesBeforeTheBodyIsSent) {
  HttpClient client(port_);
  client.send(
      "POST /refused HTTP/1.1\r\nHost: x\r\nContent-Length: 99999\r\nExpect: 100-continue\r\n\r\n");
  const auto answer = client.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->status, 404);
  EXPECT_EQ(answer->header("connection"), "close");
}

TEST_F(HttpServerTest, KeepsTheConnectionWhereASmallBodyIsRefused) {
  HttpClient client(port_);
  EXPECT_EQ(client.ask("POST", "/refused", "", "abc")->status, 404);
  EXPECT_EQ(client.get("/echo")->status, 200);
}

TEST_F(HttpServerTest, RefusesWhatIsTooLarge) {
  const auto status_of = [&](const std::string& bytes) {
    HttpClient client(port_);
    client.send(bytes);
    const auto answer = client.receive();
    if (answer && answer->header("content-type") != "application/problem+json") return -1;
    return answer ? answer->status : 0;
  };
  const std::string post = "POST /echo HTTP/1.1\r\nHost: x\r\n";
  EXPECT_EQ(status_of(post + "Content-Length: 100001\r\n\r\n"), 413);
  EXPECT_EQ(status_of(post + "Content-Length: 9999999999999\r\n\r\n" + std::string(300000, 'x')),
            413);
  EXPECT_EQ(
      status_of(post + "Transfer-Encoding: chunked\r\n\r\n30000\r\n" + std::string(0x30000, 'x')),
      413);
  EXPECT_EQ(status_of("GET /" + std::string(9000, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n"), 414);
  EXPECT_EQ(status_of("GET /" + std::string(40000, 'a')), 414);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: x\r\nX: " + std::string(20000, 'a')), 431);
}

TEST_F(HttpServerTest, RefusesWhatIsNotHttp) {
  const auto status_of = [&](const std::string& bytes) {
    HttpClient client(port_);
    client.send(bytes);
    const auto answer = client.receive();
    return answer ? answer->status : 0;
  };
  EXPECT_EQ(status_of("hello\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\n\r\n"), 400) << "no Host";
  EXPECT_EQ(status_of("GET / HTTP/1.1\r\nHost: a\r\nHost: b\r\n\r\n"), 400);
  EXPECT_EQ(status_of("GET / HTTP/3.0\r\nHost: a\r\n\r\n"), 505);
  EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: 1\r\n"
                      "Transfer-Encoding: chunked\r\n\r\n"),
            400);
  EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nContent-Length: x\r\n\r\n"), 400);
  EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
  EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nExpect: miracles\r\n\r\n"), 417);
  EXPECT_EQ(status_of("POST /echo HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"),
            400);
  EXPECT_EQ(status_of("GET /echo HTTP/1.0\r\n\r\n"), 200);
}

TEST_F(HttpServerTest, EndsWhoIsTooSlow) {
  options_.header_time = 200ms;
  options_.idle_time = 400ms;
  options_.body_time = 200ms;
  restart();
  const auto begin = Times::now();
  HttpClient slow_header(port_), slow_body(port_), idle(port_);
  slow_header.send("GET / HTT");
  slow_body.send("POST /echo HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\n\r\nab");
  EXPECT_EQ(slow_header.receive()->status, 408);
  EXPECT_EQ(slow_body.receive()->status, 408);
  EXPECT_TRUE(idle.ended());
  EXPECT_LT(Times::now() - begin, 5s);
  const HttpCounters counted = counters();
  EXPECT_EQ(counted.header_timeouts, 1u);
  EXPECT_EQ(counted.body_timeouts, 1u);
}

TEST_F(HttpServerTest, EndsWhoDoesNotRead) {
  options_.write_time = 200ms;
  restart();
  HttpClient client(port_, 4096);
  std::string all;
  for (int k = 0; k < 8; ++k) all += "GET /large HTTP/1.1\r\nHost: x\r\n\r\n";
  client.send(all);
  for (int wait = 0; wait < 100 && counters().write_timeouts == 0; ++wait)
    std::this_thread::sleep_for(50ms);
  EXPECT_EQ(counters().write_timeouts, 1u);
  for (int wait = 0; wait < 100 && counters().connections_open > 0; ++wait)
    std::this_thread::sleep_for(50ms);
  EXPECT_EQ(counters().connections_open, 0u);
}

TEST_F(HttpServerTest, AnswersWhoHasEndedSending) {
  HttpClient client(port_);
  client.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  client.end_sending();
  EXPECT_EQ(client.receive()->body, "later");
  EXPECT_TRUE(client.ended());
}

TEST_F(HttpServerTest, RefusesConnectionsPastTheLimit) {
  options_.most_connections = 5;
  restart();
  std::vector<std::unique_ptr<HttpClient>> in;
  for (int k = 0; k < 5; ++k) {
    in.push_back(std::make_unique<HttpClient>(port_));
    EXPECT_EQ(in.back()->get("/echo")->status, 200);
  }
  for (int k = 0; k < 20; ++k) {
    HttpClient past(port_);
    EXPECT_EQ(past.receive()->status, 503);
    EXPECT_TRUE(past.ended());
  }
  EXPECT_EQ(counters().connections_refused, 20u);
  EXPECT_EQ(in[0]->get("/echo")->status, 200) << "those inside are served";
  in.clear();
  for (int wait = 0; wait < 100 && counters().connections_open > 0; ++wait)
    std::this_thread::sleep_for(20ms);
  HttpClient again(port_);
  EXPECT_EQ(again.get("/echo")->status, 200);
}

TEST_F(HttpServerTest, ReportsHandlersThatFail) {
  HttpClient client(port_);
  for (const char* path : {"/throws", "/thrown-early", "/drops"}) {
    const auto answer = client.get(path);
    ASSERT_TRUE(answer) << path;
    EXPECT_EQ(answer->status, 500);
    EXPECT_EQ(answer->body.find("thrown"), std::string::npos) << "our words are not the client's";
  }
  EXPECT_EQ(net_.run([this] { return errors_; }),
            "thrown\nthrown early\na handler let go of a request without an answer\n");
}

TEST_F(HttpServerTest, DoesNotWaitForeverForAHandler) {
  options_.handler_time = 100ms;
  restart();
  HttpClient client(port_);
  EXPECT_EQ(client.get("/never")->status, 503);
  net_.run([this] {
    kept_.at(0)(json_response(200, "too late"));
    kept_.clear();
  });
  EXPECT_EQ(client.get("/echo")->body, "GET  ") << "a late reply must not answer the next request";
}

TEST_F(HttpServerTest, CompressesLargeAnswersForWhoAsks) {
  HttpClient client(port_);
  const auto packed = client.get("/large", "Accept-Encoding: gzip\r\n");
  ASSERT_TRUE(packed);
  EXPECT_EQ(packed->header("content-encoding"), "gzip");
  EXPECT_EQ(packed->header("vary"), "Accept-Encoding");
  EXPECT_LT(packed->body.size(), 100000u);
  EXPECT_EQ(test::gunzip(packed->body), std::string(3 << 20, 'x'));
  const auto plain = client.get("/large", "Accept-Encoding: gzip;q=0\r\n");
  EXPECT_EQ(plain->header("content-encoding"), "");
  EXPECT_EQ(plain->body.size(), 3u << 20);
  EXPECT_EQ(client.get("/echo", "Accept-Encoding: gzip\r\n")->header("content-encoding"), "");
}

TEST_F(HttpServerTest, AnswersNotModifiedToWhoHasItAlready) {
  HttpClient client(port_);
  const std::string tag = client.get("/large")->header("etag");
  ASSERT_NE(tag, "");
  const auto again = client.get("/large", "If-None-Match: " + tag + "\r\n");
  EXPECT_EQ(again->status, 304);
  EXPECT_EQ(again->header("etag"), tag);
  EXPECT_EQ(client.get("/large", "If-None-Match: \"other\"\r\n")->status, 200);
}

TEST_F(HttpServerTest, StopsOnceRequestsUnderWayAreAnswered) {
  HttpClient busy(port_), idle(port_), stream(port_);
  EXPECT_EQ(idle.get("/echo")->status, 200);
  stream.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  EXPECT_NE(stream.read_until("hello\n\n").find("200 OK"), std::string::npos);
  busy.send("GET /later HTTP/1.1\r\nHost: x\r\n\r\n");
  std::this_thread::sleep_for(30ms);
  std::promise<void> stopped;
  net_.run([&] { server_->stop(5s, [&] { stopped.set_value(); }); });
  const auto answer = busy.receive();
  ASSERT_TRUE(answer);
  EXPECT_EQ(answer->body, "later");
  EXPECT_EQ(answer->header("connection"), "close");
  EXPECT_TRUE(idle.ended());
  EXPECT_TRUE(stream.ended());
  EXPECT_EQ(stopped.get_future().wait_for(3s), std::future_status::ready);
  EXPECT_THROW(HttpClient{port_}, std::runtime_error);
}

TEST_F(HttpServerTest, DoesNotWaitLongerThanItsGraceWhenItStops) {
  HttpClient stuck(port_);
  stuck.send("GET /never HTTP/1.1\r\nHost: x\r\n\r\n");
  std::this_thread::sleep_for(50ms);
  std::promise<void> stopped;
  net_.run([&] { server_->stop(200ms, [&] { stopped.set_value(); }); });
  EXPECT_EQ(stopped.get_future().wait_for(3s), std::future_status::ready);
  net_.run([this] { kept_.clear(); });
}

TEST_F(HttpServerTest, SendsAStreamUntilTheClientGoes) {
  auto client = std::make_unique<HttpClient>(port_);
  client->send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  client->read_until("hello\n\n");
  net_.run([this] { streams_.at(0)->write(std::make_shared<const std::string>("more\n\n")); });
  EXPECT_EQ(client->read_until("more\n\n"), "more\n\n");
  EXPECT_EQ(counters().streams_open, 1u);
  client.reset();
  for (int wait = 0; wait < 100 && counters().streams_open > 0; ++wait)
    std::this_thread::sleep_for(20ms);
  EXPECT_EQ(counters().streams_open, 0u);
  EXPECT_EQ(net_.run([this] { return streams_closed_; }), 1);
  EXPECT_FALSE(
      net_.run([this] { return streams_.at(0)->write(std::make_shared<const std::string>("x")); }));
}

TEST_F(HttpServerTest, DropsAStreamsClientThatDoesNotRead) {
  HttpClient client(port_, 4096);
  client.send("GET /stream HTTP/1.1\r\nHost: x\r\n\r\n");
  client.read_until("hello\n\n");
  const auto text = std::make_shared<const std::string>(100000, 'x');
  bool open = true;
  for (int k = 0; k < 1000 && open; ++k) {
    open = net_.run([&] { return streams_.at(0)->write(text); });
    std::this_thread::sleep_for(1ms);
  }
  EXPECT_FALSE(open);
  for (int wait = 0; wait < 100 && counters().slow_streams_dropped == 0; ++wait)
    std::this_thread::sleep_for(20ms);
  EXPECT_EQ(counters().slow_streams_dropped, 1u);
}

TEST_F(HttpServerTest, SaysWhyItCannotListen) {
  const std::string reason = net_.run([this] {
    HttpOptions taken = options_;
    taken.port = std::uint16_t(port_);
    HttpServer second(
        net_.io, taken, [](const Request&) { return Admission{}; }, nullptr);
    const auto started = second.start();
    return started ? "" : started.error();
  });
  EXPECT_NE(reason.find("cannot bind 127.0.0.1 port " + std::to_string(port_)), std::string::npos)
      << reason;
}

}  // namespace
}  // namespace outlierd::api
