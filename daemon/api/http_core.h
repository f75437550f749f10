#pragma once
// What the connections of one server share, and one connection. Internal to the server: Asio, but
// no Beast.

#include <boost/asio/io_context.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <deque>
#include <exception>
#include <memory>
#include <optional>
#include <string>
#include <unordered_set>

#include "daemon/api/http_server.h"
#include "daemon/api/http_transport.h"

namespace outlierd::api {

using Clock = std::chrono::steady_clock;
class Session;

class HttpCore : public std::enable_shared_from_this<HttpCore> {
 public:
  HttpCore(boost::asio::io_context& io, HttpOptions options, Dispatch dispatch,
           HttpServer::OnError on_error);

  tl::expected<void, std::string> start();
  tl::expected<void, std::string> reload_tls();
  void stop(std::chrono::milliseconds grace, std::function<void()> done);
  void close_all();
  std::uint16_t port() const;
  void report(std::string_view what) const noexcept;
  void report(std::exception_ptr failure) const noexcept;  // null: nothing to report
  void count(std::string_view method, std::string_view route, int status, Clock::duration took);
  const std::string& date();  // for the Date header, made once a second
  void gone(Session* session);

  const HttpOptions options;
  const Dispatch dispatch;
  HttpCounters counters;
  bool stopping = false;

 private:
  awaitable<void> accept_all();
  awaitable<void> watch_deadlines();
  void take(tcp::socket socket);
  void refuse(tcp::socket socket);
  void finish_if_drained();

  boost::asio::io_context& io_;
  HttpServer::OnError on_error_;
  tcp::acceptor acceptor_;
  boost::asio::steady_timer tick_, pause_;
  TlsContext tls_;
  std::unordered_set<Session*> sessions_;
  std::optional<Clock::time_point> stop_deadline_;
  std::function<void()> done_;
  std::uint16_t port_ = 0;
  long long date_second_ = -1;
  std::string date_;
};

class SessionStream;

class Session : public std::enable_shared_from_this<Session> {
 public:
  Session(std::shared_ptr<HttpCore> core, std::unique_ptr<Transport> transport, std::string peer,
          bool loopback, bool tls);
  ~Session();

  awaitable<void> run();
  void ended(std::exception_ptr failure);
  void check_deadline(Clock::time_point now);
  void drain();  // ends after the request under way
  void abort();  // closes the socket; whatever waits on it fails

 private:
  friend class SessionStream;
  enum class Phase { kOpening, kIdle, kHeader, kBody, kHandler, kWriting, kClosing, kStreaming };
  struct Parsing;  // Beast's parser, out of sight
  struct Exchange {
    Request request;
    std::string_view route = "unmatched";
    Clock::time_point begun = Clock::now();
    bool keep_alive = false, http_1_0 = false;
  };

  awaitable<bool> serve_one();  // false: the connection ends
  Admission admit(Parsing& parsing, const Exchange& exchange);
  awaitable<bool> take_body(Parsing& parsing, Exchange& exchange, Admission& admission);
  awaitable<bool> read_head(Parsing& parsing);
  awaitable<bool> read_body(Parsing& parsing, std::size_t most_bytes);
  awaitable<bool> read_more(std::size_t most_bytes);
  void call_handler(Request& request, const Admission& admission);
  awaitable<Response> ask_handler(Request& request, const Admission& admission);
  awaitable<bool> send(Response response, Exchange& exchange);
  awaitable<bool> send_bytes(std::string_view head, std::string_view body);
  awaitable<bool> refuse(Response response, Exchange& exchange);
  awaitable<void> run_stream(Response response, Exchange& exchange);
  awaitable<void> watch_for_end(std::shared_ptr<SessionStream> stream);
  awaitable<void> linger();
  void enter(Phase phase, HttpOptions::Time time);
  void answer(std::uint64_t exchange, std::optional<Response> response);
  Request request_of(Parsing& parsing) const;

  std::shared_ptr<HttpCore> core_;
  std::unique_ptr<Transport> transport_;
  const std::string peer_;
  const bool loopback_, tls_;
  Phase phase_ = Phase::kOpening;
  Clock::time_point deadline_ = Clock::time_point::max();
  bool timed_out_ = false, draining_ = false, aborted_ = false;
  std::string buffer_;  // what was read; from begin_ on not yet parsed
  std::size_t begin_ = 0;
  boost::asio::steady_timer wake_;  // cancelled when a reply or a stream's message is there
  std::uint64_t exchanges_ = 0;
  std::optional<Response> answered_;
  bool waiting_ = false;
  std::shared_ptr<SessionStream> stream_;
};

}  // namespace outlierd::api
