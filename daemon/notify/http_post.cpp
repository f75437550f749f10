// The only file of the room that knows Beast.
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/beast/core/flat_buffer.hpp>
#include <boost/beast/core/tcp_stream.hpp>
#include <boost/beast/http.hpp>
#include <boost/beast/ssl/ssl_stream.hpp>

#include "daemon/notify/delivery.h"

namespace outlierd::notify {
namespace {

namespace asio = boost::asio;
namespace beast = boost::beast;
namespace http = beast::http;
using tcp = asio::ip::tcp;

constexpr std::size_t kMostAnswer = 64 * 1024, kMostShown = 200;

using Request = http::request<http::string_body>;
using Answer = http::response<http::string_body>;

Request request_of(const HttpTarget& target, std::string body) {
  Request request(http::verb::post, target.target, 11);
  const bool v6 = target.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + target.host + "]" : target.host;
  const bool usual = target.port == (target.tls ? 443 : 80);
  request.set(http::field::host, usual ? host : host + ":" + std::to_string(target.port));
  request.set(http::field::user_agent, "outlierd");
  request.set(http::field::content_type, "application/json");
  request.set(http::field::connection, "close");
  for (const auto& [name, value] : target.headers) request.set(name, value);
  request.body() = std::move(body);
  request.prepare_payload();
  return request;
}

std::string line_of(std::string text) {
  text.resize(std::min(text.size(), kMostShown));
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32) c = ' ';
  while (!text.empty() && text.back() == ' ') text.pop_back();
  return text;
}

tl::expected<std::string, Refusal> outcome_of(const Answer& answer) {
  const std::string status =
      std::to_string(answer.result_int()) + " " + std::string(answer.reason());
  if (answer.result_int() / 100 == 2) return status;
  const std::string said = line_of(answer.body());
  const bool final =
      answer.result_int() == 400 || answer.result_int() == 413 || answer.result_int() == 422;
  return tl::unexpected(Refusal{said.empty() ? status : status + ": " + said, final});
}

template <class Stream>
asio::awaitable<Answer> exchange(Stream& stream, Request& request) {
  co_await http::async_write(stream, request, asio::use_awaitable);
  beast::flat_buffer buffer;
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostAnswer);
  co_await http::async_read(stream, buffer, parser, asio::use_awaitable);
  co_return parser.release();
}

asio::awaitable<Answer> exchange_tls(const HttpTarget& target, tcp::resolver::results_type found,
                                     Request& request) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  context.set_default_verify_paths();
  beast::ssl_stream<beast::tcp_stream> stream(co_await asio::this_coro::executor, context);
  stream.set_verify_mode(asio::ssl::verify_peer);
  stream.set_verify_callback(asio::ssl::host_name_verification(target.host));
  boost::system::error_code no_address;  // the extension is for names only (RFC 6066)
  asio::ip::make_address(target.host, no_address);
  if (no_address) SSL_set_tlsext_host_name(stream.native_handle(), target.host.c_str());
  co_await beast::get_lowest_layer(stream).async_connect(found, asio::use_awaitable);
  co_await stream.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
  // Whether the other side says goodbye is of no interest: the answer has come, with its length.
  co_return co_await exchange(stream, request);
}

}  // namespace

Delivery post(HttpTarget target, std::string body) try {
  const auto executor = co_await asio::this_coro::executor;
  Request request = request_of(target, std::move(body));
  tcp::resolver resolver(executor);
  const auto found = co_await resolver.async_resolve(target.host, std::to_string(target.port),
                                                     asio::use_awaitable);
  if (target.tls) {
    const Answer answer = co_await exchange_tls(target, found, request);
    co_return outcome_of(answer);
  }
  beast::tcp_stream stream(executor);
  co_await stream.async_connect(found, asio::use_awaitable);
  const Answer answer = co_await exchange(stream, request);
  co_return outcome_of(answer);
} catch (const boost::system::system_error& error) {
  co_return tl::unexpected(Refusal{error.code().message()});
} catch (const std::exception& error) {
  co_return tl::unexpected(Refusal{error.what()});
}

}  // namespace outlierd::notify
