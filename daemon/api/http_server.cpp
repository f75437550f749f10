#include "daemon/api/http_server.h"

#include <algorithm>
#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/v6_only.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <ctime>
#include <exception>

#include "daemon/api/http_core.h"
#include "daemon/api/http_text.h"

namespace outlierd::api {
namespace {

namespace asio = boost::asio;
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

// Peers of a dual-stack socket come as ::ffff:192.0.2.1.
asio::ip::address plain_address(const asio::ip::address& address) {
  if (address.is_v6() && address.to_v6().is_v4_mapped())
    return asio::ip::make_address_v4(asio::ip::v4_mapped, address.to_v6());
  return address;
}

Clock::duration tick_of(const HttpOptions& options) {
  const auto shortest = std::min({options.header_time, options.body_time, options.idle_time,
                                  options.handler_time, options.write_time});
  return std::clamp(shortest / 4, HttpOptions::Time(5), HttpOptions::Time(250));
}

std::string_view method_label(std::string_view method) {
  for (std::string_view known : {"GET", "HEAD", "POST", "PUT", "DELETE", "OPTIONS", "PATCH"})
    if (method == known) return known;
  return "other";
}

}  // namespace

HttpCore::HttpCore(asio::io_context& io, HttpOptions options_in, Dispatch dispatch_in,
                   HttpServer::OnError on_error)
    : options(std::move(options_in)),
      dispatch(std::move(dispatch_in)),
      io_(io),
      on_error_(std::move(on_error)),
      acceptor_(io),
      tick_(io),
      pause_(io) {
  counters.durations.resize(std::size(kDurationBounds) + 1);
}

tl::expected<void, std::string> HttpCore::start() {
  ErrorCode error;
  const auto address = asio::ip::make_address(options.address, error);
  if (error) return tl::unexpected(options.address + " is not a numeric address");
  if (options.tls)
    if (auto loaded = reload_tls(); !loaded) return loaded;
  const tcp::endpoint endpoint(address, options.port);
  const auto failed = [&](const char* what) {
    return tl::unexpected("cannot " + std::string(what) + " " + options.address + " port " +
                          std::to_string(options.port) + ": " + error.message());
  };
  acceptor_.open(endpoint.protocol(), error);
  if (error) return failed("open a socket for");
  acceptor_.set_option(tcp::acceptor::reuse_address(true), error);
  if (address.is_v6()) acceptor_.set_option(asio::ip::v6_only(false), error);
  acceptor_.bind(endpoint, error);
  if (error) return failed("bind");
  acceptor_.listen(asio::socket_base::max_listen_connections, error);
  if (error) return failed("listen on");
  port_ = acceptor_.local_endpoint(error).port();

  const auto ended = [self = shared_from_this()](std::exception_ptr failure) {
    self->report(failure);
  };
  asio::co_spawn(io_, accept_all(), ended);
  asio::co_spawn(io_, watch_deadlines(), ended);
  return {};
}

tl::expected<void, std::string> HttpCore::reload_tls() {
  if (!options.tls) return {};
  auto loaded = load_tls(*options.tls);
  if (!loaded) return tl::unexpected(loaded.error());
  tls_ = std::move(*loaded);
  return {};
}

awaitable<void> HttpCore::accept_all() {
  const auto self = shared_from_this();
  while (acceptor_.is_open()) {
    auto [error, socket] = co_await acceptor_.async_accept(kAsTuple);
    if (stopping || error == asio::error::operation_aborted) co_return;
    if (error) {  // out of descriptors or memory, most likely: it may pass
      if (counters.accept_failures++ % 100 == 0) report("accept: " + error.message());
      pause_.expires_after(std::chrono::milliseconds(50));
      co_await pause_.async_wait(kAsTuple);
      continue;
    }
    if (sessions_.size() >= options.most_connections) {
      refuse(std::move(socket));
    } else {
      take(std::move(socket));
    }
  }
}

// One try to say why, without waiting.
void HttpCore::refuse(tcp::socket socket) {
  ++counters.connections_refused;
  if (tls_) return;
  static constexpr std::string_view kFull =
      "HTTP/1.1 503 Service Unavailable\r\nContent-Length: 0\r\nRetry-After: 5\r\n"
      "Connection: close\r\n\r\n";
  ErrorCode ignored;
  socket.non_blocking(true, ignored);
  socket.send(asio::buffer(kFull), 0, ignored);
  socket.shutdown(tcp::socket::shutdown_send, ignored);
}

void HttpCore::take(tcp::socket socket) {
  ErrorCode error;
  const auto remote = socket.remote_endpoint(error);
  if (error) return;  // gone already
  socket.set_option(tcp::no_delay(true), error);
  const auto address = plain_address(remote.address());
  ++counters.connections_accepted;
  ++counters.connections_open;
  auto session = std::make_shared<Session>(
      shared_from_this(),
      tls_ ? tls_transport(std::move(socket), tls_) : plain_transport(std::move(socket)),
      address.to_string(), address.is_loopback(), tls_ != nullptr);
  sessions_.insert(session.get());
  asio::co_spawn(io_, session->run(),
                 [session](std::exception_ptr failure) { session->ended(failure); });
}

void HttpCore::gone(Session* session) {
  sessions_.erase(session);
  --counters.connections_open;
  finish_if_drained();
}

awaitable<void> HttpCore::watch_deadlines() {
  const auto self = shared_from_this();
  const auto tick = tick_of(options);
  while (true) {
    tick_.expires_after(tick);
    co_await tick_.async_wait(kAsTuple);
    if (stopping && sessions_.empty()) co_return;
    const auto now = Clock::now();
    if (stop_deadline_ && now >= *stop_deadline_) close_all();
    for (Session* session : sessions_) session->check_deadline(now);
  }
}

void HttpCore::stop(std::chrono::milliseconds grace, std::function<void()> done) {
  if (stopping) return;
  stopping = true;
  done_ = std::move(done);
  stop_deadline_ = Clock::now() + grace;
  ErrorCode ignored;
  acceptor_.close(ignored);
  pause_.cancel();
  for (Session* session : sessions_) session->drain();
  finish_if_drained();
}

void HttpCore::finish_if_drained() {
  if (!stopping || !sessions_.empty()) return;
  tick_.cancel();
  if (done_) asio::post(io_, std::exchange(done_, nullptr));
}

void HttpCore::close_all() {
  for (Session* session : sessions_) session->abort();
}

std::uint16_t HttpCore::port() const { return port_; }

void HttpCore::report(std::string_view what) const noexcept {
  try {
    if (on_error_) on_error_(what);
  } catch (...) {  // reporting must not end a connection that is fine
  }
}

void HttpCore::report(std::exception_ptr failure) const noexcept {
  if (!failure) return;
  try {
    std::rethrow_exception(failure);
  } catch (const std::exception& thrown) {
    report(thrown.what());
  } catch (...) {
    report("an exception of unknown kind");
  }
}

void HttpCore::count(std::string_view method, std::string_view route, int status,
                     Clock::duration took) {
  ++counters.requests[{method_label(method), route, status}];
  const double seconds = std::chrono::duration<double>(took).count();
  const auto* bound =
      std::lower_bound(std::begin(kDurationBounds), std::end(kDurationBounds), seconds);
  ++counters.durations[std::size_t(bound - std::begin(kDurationBounds))];
  counters.duration_sum += seconds;
}

const std::string& HttpCore::date() {
  const auto now = static_cast<long long>(std::time(nullptr));
  if (now != date_second_) {
    date_second_ = now;
    date_ = http_date(now);
  }
  return date_;
}

HttpServer::HttpServer(asio::io_context& io, HttpOptions options, Dispatch dispatch,
                       OnError on_error)
    : core_(std::make_shared<HttpCore>(io, std::move(options), std::move(dispatch),
                                       std::move(on_error))) {}

HttpServer::~HttpServer() {
  core_->stop(std::chrono::milliseconds(0), nullptr);
  core_->close_all();
}

tl::expected<void, std::string> HttpServer::start() { return core_->start(); }
std::uint16_t HttpServer::port() const { return core_->port(); }
tl::expected<void, std::string> HttpServer::reload_tls() { return core_->reload_tls(); }
void HttpServer::stop(std::chrono::milliseconds grace, std::function<void()> done) {
  core_->stop(grace, std::move(done));
}
const HttpCounters& HttpServer::counters() const { return core_->counters; }

}  // namespace outlierd::api
