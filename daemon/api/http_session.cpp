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

}  // namespace

struct Session::Parsing {
  http::request_parser<http::string_body> parser;
  ErrorCode error;
};

Session::Session(std::shared_ptr<HttpCore> core, std::unique_ptr<Transport> transport,
                 std::string peer, bool loopback, bool tls)
    : core_(std::move(core)),
      transport_(std::move(transport)),
      peer_(std::move(peer)),
      loopback_(loopback),
      tls_(tls),
      wake_(transport_->socket().get_executor()) {}

Session::~Session() {
  if (stream_) stream_->end();
  core_->gone(this);
}

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
  Response response = co_await ask_handler(exchange.request, admission);
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

void Session::call_handler(Request& request, const Admission& admission) {
  answered_.reset();
  ++exchanges_;
  enter(Phase::kHandler, admission.handler_time.value_or(core_->options.handler_time));
  const Reply reply(
      [weak = weak_from_this(), exchange = exchanges_](std::optional<Response> response) {
        if (const auto self = weak.lock()) self->answer(exchange, std::move(response));
      });
  try {
    admission.handle(request, reply);
  } catch (...) {
    ++core_->counters.handler_failures;
    core_->report(std::current_exception());
    reply(problem(500, "the request could not be handled"));
  }
}

awaitable<Response> Session::ask_handler(Request& request, const Admission& admission) {
  call_handler(request, admission);
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

}  // namespace outlierd::api
