#include "daemon/ctl/http.h"

#include <fmt/format.h>

#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "daemon/ctl/progress.h"

namespace outlierd::ctl {
namespace {

namespace http = boost::beast::http;
using Parser = http::response_parser<http::string_body>;

constexpr std::uint32_t kMostHeader = 64 * 1024;
constexpr std::uint64_t kMostBody = std::uint64_t{1} << 30;

}  // namespace

std::string percent_encoded(std::string_view text) {
  std::string out;
  for (const char letter : text) {
    const bool plain = (letter >= 'a' && letter <= 'z') || (letter >= 'A' && letter <= 'Z') ||
                       (letter >= '0' && letter <= '9') ||
                       std::string_view("-._~").find(letter) != std::string_view::npos;
    if (plain)
      out += letter;
    else
      out += fmt::format("%{:02X}", unsigned(static_cast<unsigned char>(letter)));
  }
  return out;
}

std::string format_request(const Address& address, const std::string& token,
                           const HttpRequest& request) {
  std::string text = fmt::format(
      "{} {} HTTP/1.1\r\nHost: {}\r\nUser-Agent: outlierctl\r\nAccept: {}\r\n", request.method,
      request.target, address.host_header(), "application/json, application/problem+json, */*");
  if (!token.empty()) text += "Authorization: Bearer " + token + "\r\n";
  if (!request.last_event_id.empty()) text += "Last-Event-ID: " + request.last_event_id + "\r\n";
  if (!request.body.empty()) text += "Content-Type: " + request.content_type + "\r\n";
  if (request.method != "GET") text += fmt::format("Content-Length: {}\r\n", request.body.size());
  return text + "\r\n" + request.body;
}

class HttpAnswerReader::State {
 public:
  State() { restart(); }

  void restart() {
    parser_.emplace();
    parser_->header_limit(kMostHeader);
    parser_->body_limit(kMostBody);
    parser_->eager(true);
  }

  tl::expected<std::optional<HttpAnswer>, std::string> take(std::string& in) {
    std::size_t used = 0;
    boost::beast::error_code error;
    while (used < in.size() && !parser_->is_done()) {
      used += parser_->put(boost::asio::buffer(in.data() + used, in.size() - used), error);
      if (error == http::error::need_more) break;
      if (error) return tl::unexpected("not an HTTP answer: " + error.message());
    }
    in.erase(0, used);
    return finished();
  }

  tl::expected<std::optional<HttpAnswer>, std::string> end() {
    if (!parser_->got_some()) return std::nullopt;
    boost::beast::error_code error;
    parser_->put_eof(error);
    if (error) return tl::unexpected(std::string("the answer was cut short"));
    return finished();
  }

  std::optional<HttpAnswer> finished() {
    if (!parser_->is_done()) return std::nullopt;
    HttpAnswer answer{int(parser_->get().result_int()), std::move(parser_->get().body()),
                      parser_->get().keep_alive()};
    restart();
    return answer;
  }

  int status() const { return parser_->is_header_done() ? int(parser_->get().result_int()) : 0; }
  std::string take_body() { return std::exchange(parser_->get().body(), {}); }

 private:
  std::optional<Parser> parser_;
};

HttpAnswerReader::HttpAnswerReader() : state_(std::make_unique<State>()) {}
HttpAnswerReader::~HttpAnswerReader() = default;
HttpAnswerReader::HttpAnswerReader(HttpAnswerReader&&) noexcept = default;
HttpAnswerReader& HttpAnswerReader::operator=(HttpAnswerReader&&) noexcept = default;
tl::expected<std::optional<HttpAnswer>, std::string> HttpAnswerReader::take(std::string& in) {
  return state_->take(in);
}
tl::expected<std::optional<HttpAnswer>, std::string> HttpAnswerReader::end() {
  return state_->end();
}
int HttpAnswerReader::status() const { return state_->status(); }
std::string HttpAnswerReader::take_body() { return state_->take_body(); }

HttpClient::HttpClient(Address address, std::string token, ConnectionOptions options)
    : address_(std::move(address)), token_(std::move(token)), options_(std::move(options)) {}

tl::expected<HttpAnswer, std::string> HttpClient::send(const HttpRequest& request, double seconds) {
  const bool kept = connection_.has_value();
  bool nothing_came = false;
  auto answer = send_once(request, seconds, nothing_came);
  // A kept connection may have been closed by the daemon in the meantime: then once more.
  if (!answer && kept && nothing_came) return send_once(request, seconds, nothing_came);
  return answer;
}

tl::expected<HttpAnswer, std::string> HttpClient::send_once(const HttpRequest& request,
                                                            double seconds, bool& nothing_came) {
  nothing_came = true;
  if (!connection_) {
    auto opened = Connection::open(address_, options_);
    if (!opened) return tl::unexpected(opened.error());
    connection_ = std::move(*opened);
  }
  // Kept only when the answer has come whole and the daemon keeps it too.
  Connection connection = std::move(*std::exchange(connection_, std::nullopt));
  std::string out = format_request(address_, token_, request), in;
  HttpAnswerReader reader;
  const double end = steady_seconds() + seconds;
  while (true) {
    const double left = end - steady_seconds();
    const auto moved = connection.exchange(out, in, left);
    if (!moved) return tl::unexpected(moved.error());
    nothing_came &= in.empty();
    auto answer = reader.take(in);
    if (answer && !*answer && *moved == Connection::Outcome::kClosed) {
      answer = reader.end();
      if (answer && !*answer) return tl::unexpected(std::string("closed without an answer"));
    }
    if (!answer) return tl::unexpected(answer.error());
    if (*answer) {
      if ((*answer)->keep_alive && *moved != Connection::Outcome::kClosed)
        connection_ = std::move(connection);
      return std::move(**answer);
    }
    if (*moved == Connection::Outcome::kTimeout) {
      nothing_came = false;  // it may be at work: not a second time
      return tl::unexpected(fmt::format("no answer in {:g} s", seconds));
    }
  }
}

tl::expected<HttpAnswer, std::string> HttpClient::follow(
    const HttpRequest& request, double quiet_seconds,
    const std::function<bool(std::string_view)>& on_text) {
  auto connection = Connection::open(address_, options_);
  if (!connection) return tl::unexpected(connection.error());
  std::string out = format_request(address_, token_, request), in;
  HttpAnswerReader reader;
  while (true) {
    const auto moved = connection->exchange(out, in, quiet_seconds);
    if (!moved) return tl::unexpected(moved.error());
    if (*moved == Connection::Outcome::kTimeout)
      return tl::unexpected(fmt::format("nothing came for {:g} s", quiet_seconds));
    auto answer = reader.take(in);
    if (!answer) return tl::unexpected(answer.error());
    if (*answer) {  // refused, or the stream has an end
      if ((*answer)->status == 200) on_text((*answer)->body);
      return std::move(**answer);
    }
    const int status = reader.status();
    if (status == 200)
      if (const std::string text = reader.take_body(); !text.empty() && !on_text(text))
        return HttpAnswer{status, {}, false};
    if (*moved == Connection::Outcome::kClosed)
      return HttpAnswer{status, reader.take_body(), false};
  }
}

}  // namespace outlierd::ctl
