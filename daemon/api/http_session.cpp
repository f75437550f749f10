// One connection: read a request, have it answered, send the answer, again.
//
// co_await stands in statements of its own, not in conditions joined by && or ||: g++ 12 gets those
// wrong.

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "daemon/api/http_core.h"
#include "daemon/api/http_session_stream.h"
#include "daemon/api/http_text.h"

namespace outlierd::api {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

constexpr std::size_t kSmallRead = 4 * 1024, kLargeRead = 64 * 1024;
constexpr std::size_t kStep = 256 * 1024;         // what a deadline of a body is for
constexpr std::size_t kWorthReading = 64 * 1024;  // a refused body so small is read and dropped
constexpr std::size_t kMostLinger = 16 << 20;
constexpr HttpOptions::Time kLingerTime = std::chrono::seconds(2);

bool must_not_have_body(int status) { return status == 204 || status == 304; }

}  // namespace

struct Session::Parsing {
  http::request_parser<http::string_body> parser;
  ErrorCode error;
};

struct Session::Exchange {
  Request request;
  std::string_view route = "unmatched";
  Clock::time_point begun = Clock::now();
  bool keep_alive = false, http_1_0 = false;
};

Session::Session(std::shared_ptr<HttpCore> core, std::unique_ptr<Transport> transport,
                 std::string peer, bool loopback, bool tls)
    : core_(std::move(core)),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      loopback_(loopback),
      tls_(tls),
      wake_(transport_->socket().get_executor()) {}

Session::~Session() { core_->gone(this); }

void Session::ended(std::exception_ptr failure) {
  core_->report(failure);
  if (stream_) stream_->end();
  abort();
}

void Session::enter(Phase phase, HttpOptions::Time time) {
  phase_ = phase;
  deadline_ = Clock::now() + time;
}

void Session::check_deadline(Clock::time_point now) {
  if (now < deadline_) return;
  deadline_ = Clock::time_point::max();
  timed_out_ = true;
  HttpCounters& counters = core_->counters;
  if (phase_ == Phase::kHandler) {
    ++counters.handler_timeouts;
    return answer(exchanges_, problem(503, "no answer in time"));
  }
  if (phase_ == Phase::kHeader || phase_ == Phase::kOpening) ++counters.header_timeouts;
  if (phase_ == Phase::kBody) ++counters.body_timeouts;
  if (phase_ == Phase::kWriting || phase_ == Phase::kStreaming) ++counters.write_timeouts;
  ErrorCode ignored;
  transport_->socket().cancel(ignored);
}

void Session::drain() {
  draining_ = true;
  if (stream_) stream_->close();
  if (phase_ == Phase::kIdle || phase_ == Phase::kOpening) abort();
}

void Session::abort() {
  aborted_ = true;
  ErrorCode ignored;
  transport_->socket().close(ignored);
  wake_.cancel();
}

awaitable<void> Session::run() {
  enter(Phase::kOpening, core_->options.header_time);
  const ErrorCode refused = co_await transport_->open();
  if (refused) {
    ++core_->counters.tls_failures;
    co_return;
  }
  bool go_on = true;
  while (go_on && !aborted_ && !draining_) go_on = co_await serve_one();
}

awaitable<bool> Session::read_more(std::size_t most_bytes) {
  if (begin_ > 0) {
    buffer_.erase(0, begin_);
    begin_ = 0;
  }
  const std::size_t before = buffer_.size();
  buffer_.resize(before + most_bytes);
  const Transferred got =
      co_await transport_->read(asio::buffer(buffer_.data() + before, most_bytes));
  buffer_.resize(before + got.bytes);
  core_->counters.bytes_read += got.bytes;
  co_return !got.error && !timed_out_;
}

// False when it failed: with an error to be answered in parsing.error, or without one.
awaitable<bool> Session::read_head(Parsing& parsing) {
  const HttpOptions& options = core_->options;
  parsing.parser.header_limit(std::uint32_t(options.most_header_bytes));
  parsing.parser.body_limit(boost::none);  // set once it is known who will read it
  if (begin_ == buffer_.size()) {
    enter(Phase::kIdle, options.idle_time);
    const bool got = co_await read_more(kSmallRead);
    if (!got) co_return false;
  }
  enter(Phase::kHeader, options.header_time);
  while (true) {
    const std::size_t taken = parsing.parser.put(
        asio::buffer(buffer_.data() + begin_, buffer_.size() - begin_), parsing.error);
    begin_ += taken;
    if (parsing.parser.is_header_done() && !parsing.error) co_return true;
    if (parsing.error && parsing.error != http::error::need_more) co_return false;
    parsing.error = {};
    const bool got = co_await read_more(kSmallRead);
    if (!got) {
      if (timed_out_) parsing.error = asio::error::timed_out;
      co_return false;
    }
  }
}

awaitable<bool> Session::read_body(Parsing& parsing, std::size_t most_bytes) {
  auto& parser = parsing.parser;
  parser.body_limit(most_bytes);
  enter(Phase::kBody, core_->options.body_time);
  std::size_t step = 0;
  while (!parser.is_done()) {
    if (begin_ == buffer_.size() || parsing.error == http::error::need_more) {
      if (buffer_.size() - begin_ > kLargeRead) co_return false;  // a chunk's header without end
      const std::size_t before = buffer_.size() - begin_;
      const bool got = co_await read_more(kLargeRead);
      if (!got) {
        parsing.error = {};
        if (timed_out_) parsing.error = asio::error::timed_out;
        co_return false;
      }
      step += buffer_.size() - before;
      if (step >= kStep) {
        step = 0;
        enter(Phase::kBody, core_->options.body_time);
      }
    }
    begin_ +=
        parser.put(asio::buffer(buffer_.data() + begin_, buffer_.size() - begin_), parsing.error);
    if (parsing.error && parsing.error != http::error::need_more) co_return false;
  }
  parsing.error = {};
  co_return true;
}

Request Session::request_of(Parsing& parsing) const {
  const auto& message = parsing.parser.get();
  Request request;
  request.method = std::string(message.method_string());
  const std::string_view target(message.target().data(), message.target().size());
  const std::string_view upto = target.substr(0, target.find('#'));
  const std::size_t mark = upto.find('?');
  request.path = std::string(upto.substr(0, mark));
  if (mark != std::string_view::npos) request.query = std::string(upto.substr(mark + 1));
  request.headers.reserve(8);
  for (const auto& field : message)
    request.headers.emplace_back(std::string(field.name_string()), std::string(field.value()));
  request.peer = peer_;
  request.loopback = loopback_;
  request.tls = tls_;
  return request;
}

namespace {

Response answer_to(const ErrorCode& error, bool target_is_known, const HttpOptions& options) {
  if (error == asio::error::timed_out) return problem(408, "the request took too long to come");
  if (error == http::error::header_limit && !target_is_known)
    return problem(414, "the request line is longer than " +
                            std::to_string(options.most_header_bytes) + " bytes");
  if (error == http::error::header_limit)
    return problem(
        431, "the header is longer than " + std::to_string(options.most_header_bytes) + " bytes");
  if (error == http::error::body_limit) return problem(413, "the body is too large");
  if (error == http::error::bad_version) return problem(505, "only HTTP/1.0 and HTTP/1.1");
  return problem(400, "not HTTP: " + error.message());
}

// What a well-formed header may still get wrong.
std::optional<Response> objection(const Request& request, bool http_1_1, bool chunked,
                                  const HttpOptions& options) {
  if (request.path.size() + request.query.size() > options.most_target_bytes)
    return problem(
        414, "the target is longer than " + std::to_string(options.most_target_bytes) + " bytes");
  std::size_t hosts = 0;
  for (const auto& [name, value] : request.headers) hosts += same_ignoring_case(name, "Host");
  if (hosts > 1 || (http_1_1 && hosts == 0))
    return problem(400, "exactly one Host header is needed");
  if (!chunked && !request.header("Transfer-Encoding").empty())
    return problem(501, "of transfer encodings only chunked is known");
  if (const auto expect = request.header("Expect");
      !expect.empty() && !same_ignoring_case(expect, "100-continue"))
    return problem(417, "of expectations only 100-continue is known");
  return std::nullopt;
}

}  // namespace

awaitable<bool> Session::serve_one() {
  Parsing parsing;
  Exchange exchange;
  timed_out_ = false;
  const bool got_head = co_await read_head(parsing);
  if (!got_head) {
    if (!parsing.error) co_return false;
    ++core_->counters.malformed_requests;
    const bool target_is_known = !parsing.parser.get().target().empty();
    Response response = answer_to(parsing.error, target_is_known, core_->options);
    co_return co_await refuse(std::move(response), exchange);
  }
  exchange.request = request_of(parsing);
  exchange.keep_alive = parsing.parser.get().keep_alive() && !draining_;
  exchange.http_1_0 = parsing.parser.get().version() < 11;
  exchange.begun = Clock::now();
  Admission admission = admit(parsing, exchange);
  exchange.route = admission.route;
  if (!parsing.parser.is_done()) {
    const bool got_body = co_await take_body(parsing, exchange, admission);
    if (!got_body) co_return false;
    exchange.begun = Clock::now();
  }
  if (admission.refusal) co_return co_await send(std::move(*admission.refusal), exchange);
  exchange.request.body = std::move(parsing.parser.get().body());
  if (buffer_.capacity() > kLargeRead && begin_ == buffer_.size()) {
    buffer_ = std::string();
    begin_ = 0;
  }
  Response response = co_await ask_handler(exchange.request, admission.handle);
  if (aborted_) co_return false;
  if (!response.stream) co_return co_await send(std::move(response), exchange);
  co_await run_stream(std::move(response), exchange);
  co_return false;
}

Admission Session::admit(Parsing& parsing, const Exchange& exchange) {
  Admission admission;
  const auto& parser = parsing.parser;
  admission.refusal =
      objection(exchange.request, !exchange.http_1_0, parser.chunked(), core_->options);
  if (admission.refusal) return admission;
  try {
    admission = core_->dispatch(exchange.request);
  } catch (...) {
    ++core_->counters.handler_failures;
    core_->report(std::current_exception());
    admission.refusal = problem(500, "the request could not be handled");
  }
  if (!admission.refusal && parser.content_length().value_or(0) > admission.most_body_bytes)
    admission.refusal = problem(
        413, "the body may have " + std::to_string(admission.most_body_bytes) + " bytes at most");
  return admission;
}

// Reads the body, or drops it where it is small and refused; false: the connection ends.
awaitable<bool> Session::take_body(Parsing& parsing, Exchange& exchange, Admission& admission) {
  auto& parser = parsing.parser;
  const bool expects = !exchange.http_1_0 && !exchange.request.header("Expect").empty();
  const bool large = parser.chunked() || parser.content_length().value_or(0) > kWorthReading;
  if (admission.refusal && (expects || large))
    co_return co_await refuse(std::move(*admission.refusal), exchange);
  if (expects && begin_ == buffer_.size()) {
    const bool sent = co_await send_bytes("HTTP/1.1 100 Continue\r\n\r\n", {});
    if (!sent) co_return false;
  }
  const bool got =
      co_await read_body(parsing, admission.refusal ? kWorthReading : admission.most_body_bytes);
  if (got) co_return true;
  if (!parsing.error) co_return false;
  Response response = answer_to(parsing.error, true, core_->options);
  co_return co_await refuse(std::move(response), exchange);
}

void Session::answer(std::uint64_t exchange, std::optional<Response> response) {
  if (exchange != exchanges_ || answered_) return;
  if (!response) {
    ++core_->counters.handler_failures;
    core_->report("a handler let go of a request without an answer");
    response = problem(500, "the request was not answered");
  }
  answered_ = std::move(response);
  if (waiting_) wake_.cancel();
}

void Session::call_handler(Request& request, const Handler& handler) {
  answered_.reset();
  ++exchanges_;
  enter(Phase::kHandler, core_->options.handler_time);
  const Reply reply(
      [weak = weak_from_this(), exchange = exchanges_](std::optional<Response> response) {
        if (const auto self = weak.lock()) self->answer(exchange, std::move(response));
      });
  try {
    handler(request, reply);
  } catch (...) {
    ++core_->counters.handler_failures;
    core_->report(std::current_exception());
    reply(problem(500, "the request could not be handled"));
  }
}

awaitable<Response> Session::ask_handler(Request& request, const Handler& handler) {
  call_handler(request, handler);
  waiting_ = true;
  while (!answered_ && !aborted_) {
    wake_.expires_at(Clock::time_point::max());
    co_await wake_.async_wait(kAsTuple);
  }
  waiting_ = false;
  ++exchanges_;  // what comes now comes too late
  timed_out_ = false;
  Response response = answered_ ? std::move(*answered_) : Response{};
  answered_.reset();
  co_return response;
}

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
