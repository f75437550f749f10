// One connection: how answers and streams are sent. co_await as in http_session.cpp.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>

#include "daemon/api/http_core.h"
#include "daemon/api/http_session_stream.h"
#include "daemon/api/http_text.h"

namespace outlierd::api {
namespace {

namespace asio = boost::asio;
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kStep = 256 * 1024;  // what a deadline of an answer is for
constexpr std::size_t kLargeRead = 64 * 1024, kMostLinger = 16 << 20;
constexpr HttpOptions::Time kLingerTime = std::chrono::seconds(2);

bool must_not_have_body(int status) { return status == 204 || status == 304; }

}  // namespace

awaitable<bool> Session::send_bytes(std::string_view head, std::string_view body) {
  while (!head.empty() || !body.empty()) {
    enter(Phase::kWriting, core_->options.write_time);
    const std::string_view part = body.substr(0, kStep);
    const std::array<asio::const_buffer, 2> buffers{asio::buffer(head), asio::buffer(part)};
    const Transferred sent = co_await transport_->write(buffers);
    core_->counters.bytes_written += sent.bytes;
    if (sent.error || timed_out_) co_return false;
    head = {};
    body.remove_prefix(part.size());
  }
  co_return true;
}

namespace {

void add_header(std::string& head, std::string_view name, std::string_view value) {
  head.append(name).append(": ").append(value).append("\r\n");
}

std::string head_of(const Response& response, std::string_view date) {
  std::string head;
  head.reserve(512);
  head.append("HTTP/1.1 ").append(std::to_string(response.status)).append(" ");
  head.append(reason_of(response.status)).append("\r\n");
  add_header(head, "Date", date);
  if (response.body || response.stream) add_header(head, "Content-Type", response.content_type);
  add_header(head, "X-Content-Type-Options", "nosniff");
  add_header(head, "Content-Security-Policy", response.content_security);
  bool cache_said = false;
  for (const auto& [name, value] : response.headers) {
    add_header(head, name, value);
    cache_said = cache_said || same_ignoring_case(name, "Cache-Control");
  }
  if (!cache_said) add_header(head, "Cache-Control", response.tagged ? "no-cache" : "no-store");
  return head;
}

bool compressible(const Response& response) {
  for (const auto& [name, value] : response.headers)
    if (same_ignoring_case(name, "Content-Encoding")) return false;
  return response.body && (response.content_type.starts_with("text/") ||
                           response.content_type.find("json") != std::string::npos ||
                           response.content_type.find("javascript") != std::string::npos ||
                           response.content_type.find("svg") != std::string::npos);
}

}  // namespace

awaitable<bool> Session::send(Response response, Exchange& exchange) {
  const bool keep_alive = exchange.keep_alive && !draining_ && !core_->stopping;
  const bool ok = response.status >= 200 && response.status < 300;
  if (response.tagged && ok && response.body) {
    std::string tag = weak_tag(*response.body);
    if (names_tag(exchange.request.header("If-None-Match"), tag)) {
      response.status = 304;
      response.body = nullptr;
    }
    response.headers.emplace_back("ETag", std::move(tag));
  }
  if (compressible(response) && response.body->size() >= core_->options.gzip_from_bytes) {
    response.headers.emplace_back("Vary", "Accept-Encoding");
    if (accepts_gzip(exchange.request.header("Accept-Encoding"))) {
      if (std::string packed = gzip(*response.body); !packed.empty()) {
        response.body = std::make_shared<const std::string>(std::move(packed));
        response.headers.emplace_back("Content-Encoding", "gzip");
      }
    }
  }
  std::string head = head_of(response, core_->date());
  const std::string_view body = response.body ? std::string_view(*response.body) : "";
  if (!must_not_have_body(response.status))
    add_header(head, "Content-Length", std::to_string(body.size()));
  if (!keep_alive) add_header(head, "Connection", "close");
  if (keep_alive && exchange.http_1_0) add_header(head, "Connection", "keep-alive");
  head += "\r\n";
  core_->count(exchange.request.method, exchange.route, response.status,
               Clock::now() - exchange.begun);
  const bool head_only = exchange.request.method == "HEAD" || must_not_have_body(response.status);
  const bool sent = co_await send_bytes(head, head_only ? std::string_view() : body);
  if (!sent) co_return false;
  if (keep_alive) co_return true;
  enter(Phase::kClosing, kLingerTime);
  co_await transport_->end_writing();
  co_return false;
}

awaitable<bool> Session::refuse(Response response, Exchange& exchange) {
  timed_out_ = false;
  exchange.keep_alive = false;
  co_await send(std::move(response), exchange);
  co_await linger();
  co_return false;
}

// Closing with bytes unread would reset the connection, and the client might not see our answer.
awaitable<void> Session::linger() {
  enter(Phase::kClosing, kLingerTime);
  std::size_t dropped = 0;
  buffer_.clear();
  begin_ = 0;
  while (!aborted_ && !draining_ && dropped < kMostLinger) {
    const bool got = co_await read_more(kLargeRead);
    if (!got) break;
    dropped += buffer_.size();
    buffer_.clear();
  }
}

awaitable<void> Session::run_stream(Response response, Exchange& exchange) {
  std::string head = head_of(response, core_->date());
  add_header(head, "Connection", "close");
  head += "\r\n";
  core_->count(exchange.request.method, exchange.route, response.status,
               Clock::now() - exchange.begun);
  const bool begun = co_await send_bytes(head, {});
  if (!begun || exchange.request.method == "HEAD") co_return;
  stream_ = std::make_shared<SessionStream>(*this, core_->options.most_stream_bytes);
  const auto stream = stream_;
  ++core_->counters.streams_open;
  response.stream(stream);
  const auto executor = co_await asio::this_coro::executor;
  asio::co_spawn(
      executor, watch_for_end(stream),
      [self = shared_from_this()](std::exception_ptr failure) { self->core_->report(failure); });
  std::string batch;
  while (!aborted_) {
    batch = stream->take(kStep);
    if (!batch.empty()) {
      const bool sent = co_await send_bytes(batch, {});
      if (!sent) break;
      continue;
    }
    if (stream->closed() || draining_) break;
    phase_ = Phase::kStreaming;
    deadline_ = Clock::time_point::max();
    wake_.expires_at(Clock::time_point::max());
    co_await wake_.async_wait(kAsTuple);
  }
  if (stream->overflowed()) ++core_->counters.slow_streams_dropped;
  stream->end();
  --core_->counters.streams_open;
  if (!aborted_ && !timed_out_) {
    enter(Phase::kClosing, kLingerTime);
    co_await transport_->end_writing();
  }
  abort();
}

// A client of a stream has nothing to say; that it goes away is seen by reading.
awaitable<void> Session::watch_for_end(std::shared_ptr<SessionStream> stream) {
  const auto self = shared_from_this();
  std::array<char, 512> ignored;
  while (!stream->closed()) {
    const Transferred got = co_await transport_->read(asio::buffer(ignored));
    if (got.error) break;
  }
  stream->close();
}

void SessionStream::wake() {
  if (session_) session_->wake_.cancel();
}

void SessionStream::abort() {
  if (session_) session_->abort();
}

}  // namespace outlierd::api
