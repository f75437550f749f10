// The only file of the room that knows Beast.
#include <array>
#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/ssl/context.hpp>
#include <boost/asio/ssl/host_name_verification.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <boost/beast/http/parser.hpp>
#include <boost/beast/http/string_body.hpp>

#include "daemon/notify/delivery.h"

namespace outlierd::notify {
namespace {

namespace asio = boost::asio;
namespace http = boost::beast::http;
using tcp = asio::ip::tcp;

constexpr std::size_t kMostAnswer = 64 * 1024, kMostShown = 200;

using Answer = http::response<http::string_body>;

std::string request_of(const HttpTarget& target, const std::string& body) {
  const bool v6 = target.host.find(':') != std::string::npos;
  const std::string host = v6 ? "[" + target.host + "]" : target.host;
  const bool usual = target.port == (target.tls ? 443 : 80);
  std::string text = "POST " + target.target + " HTTP/1.1\r\nHost: " + host;
  if (!usual) text += ":" + std::to_string(target.port);
  text += "\r\nUser-Agent: outlierd\r\nContent-Type: application/json\r\nConnection: close\r\n";
  for (const auto& [name, value] : target.headers)
    text.append(name).append(": ").append(value).append("\r\n");
  return text + "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
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

void check(const boost::system::error_code& error) {
  if (error) throw boost::system::system_error(error);
}

// Bytes into Beast's parser: its own reading and writing take half a minute to compile.
template <class Stream>
asio::awaitable<Answer> exchange(Stream& stream, const std::string& request) {
  co_await asio::async_write(stream, asio::buffer(request), asio::use_awaitable);
  http::response_parser<http::string_body> parser;
  parser.body_limit(kMostAnswer);
  parser.eager(true);
  std::string unread;
  std::array<char, 4096> part;
  while (!parser.is_done()) {
    boost::system::error_code error;
    const std::size_t bytes = co_await stream.async_read_some(
        asio::buffer(part), asio::redirect_error(asio::use_awaitable, error));
    if (error == asio::error::eof) {
      check(parser.got_some() ? boost::system::error_code() : http::error::end_of_stream);
      boost::system::error_code partial;
      parser.put_eof(partial);
      check(partial);
      break;
    }
    check(error);
    unread.append(part.data(), bytes);
    const std::size_t used = parser.put(asio::buffer(unread), error);
    if (error != http::error::need_more) check(error);
    unread.erase(0, used);
  }
  co_return parser.release();
}

asio::awaitable<Answer> exchange_tls(const HttpTarget& target, tcp::resolver::results_type found,
                                     const std::string& request) {
  asio::ssl::context context(asio::ssl::context::tls_client);
  SSL_CTX_set_min_proto_version(context.native_handle(), TLS1_2_VERSION);
  context.set_default_verify_paths();
  asio::ssl::stream<tcp::socket> stream(co_await asio::this_coro::executor, context);
  stream.set_verify_mode(asio::ssl::verify_peer);
  stream.set_verify_callback(asio::ssl::host_name_verification(target.host));
  boost::system::error_code no_address;  // the extension is for names only (RFC 6066)
  asio::ip::make_address(target.host, no_address);
  if (no_address) SSL_set_tlsext_host_name(stream.native_handle(), target.host.c_str());
  co_await asio::async_connect(stream.next_layer(), found, asio::use_awaitable);
  co_await stream.async_handshake(asio::ssl::stream_base::client, asio::use_awaitable);
  // Whether the other side says goodbye is of no interest: the answer has come, with its length.
  co_return co_await exchange(stream, request);
}

}  // namespace

Delivery post(HttpTarget target, std::string body) try {
  const auto executor = co_await asio::this_coro::executor;
  const std::string request = request_of(target, body);
  tcp::resolver resolver(executor);
  const auto found = co_await resolver.async_resolve(target.host, std::to_string(target.port),
                                                     asio::use_awaitable);
  if (target.tls) {
    const Answer answer = co_await exchange_tls(target, found, request);
    co_return outcome_of(answer);
  }
  tcp::socket stream(executor);
  co_await asio::async_connect(stream, found, asio::use_awaitable);
  const Answer answer = co_await exchange(stream, request);
  co_return outcome_of(answer);
} catch (const boost::system::system_error& error) {
  co_return tl::unexpected(Refusal{error.code().message()});
} catch (const std::exception& error) {
  co_return tl::unexpected(Refusal{error.what()});
}

}  // namespace outlierd::notify
