#include "daemon/api/http_transport.h"

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/ssl.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

namespace outlierd::api {
namespace {

namespace asio = boost::asio;
constexpr auto kAsTuple = asio::as_tuple(asio::use_awaitable);

class PlainTransport : public Transport {
 public:
  explicit PlainTransport(tcp::socket socket) : socket_(std::move(socket)) {}

  awaitable<ErrorCode> open() override { co_return ErrorCode{}; }
  awaitable<Transferred> read(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await socket_.async_read_some(into, kAsTuple);
    co_return Transferred{error, bytes};
  }
  awaitable<Transferred> write(std::array<asio::const_buffer, 2> buffers) override {
    const auto [error, bytes] = co_await asio::async_write(socket_, buffers, kAsTuple);
    co_return Transferred{error, bytes};
  }
  awaitable<void> end_writing() override {
    ErrorCode ignored;
    socket_.shutdown(tcp::socket::shutdown_send, ignored);
    co_return;
  }
  tcp::socket& socket() override { return socket_; }

 private:
  tcp::socket socket_;
};

class TlsTransport : public Transport {
 public:
  TlsTransport(tcp::socket socket, TlsContext context)
      : context_(std::move(context)), stream_(std::move(socket), *context_) {}

  awaitable<ErrorCode> open() override {
    const auto [error] = co_await stream_.async_handshake(asio::ssl::stream_base::server, kAsTuple);
    co_return error;
  }
  awaitable<Transferred> read(asio::mutable_buffer into) override {
    const auto [error, bytes] = co_await stream_.async_read_some(into, kAsTuple);
    co_return Transferred{error, bytes};
  }
  awaitable<Transferred> write(std::array<asio::const_buffer, 2> buffers) override {
    const auto [error, bytes] = co_await asio::async_write(stream_, buffers, kAsTuple);
    co_return Transferred{error, bytes};
  }
  // Sends our close_notify and does not wait for theirs.
  awaitable<void> end_writing() override {
    SSL_set_shutdown(stream_.native_handle(), SSL_RECEIVED_SHUTDOWN);
    co_await stream_.async_shutdown(kAsTuple);
    ErrorCode ignored;
    stream_.next_layer().shutdown(tcp::socket::shutdown_send, ignored);
  }
  tcp::socket& socket() override { return stream_.next_layer(); }

 private:
  TlsContext context_;
  asio::ssl::stream<tcp::socket> stream_;
};

}  // namespace

std::unique_ptr<Transport> plain_transport(tcp::socket socket) {
  return std::make_unique<PlainTransport>(std::move(socket));
}

std::unique_ptr<Transport> tls_transport(tcp::socket socket, TlsContext context) {
  return std::make_unique<TlsTransport>(std::move(socket), std::move(context));
}

tl::expected<TlsContext, std::string> load_tls(const TlsFiles& files) {
  auto context = std::make_shared<asio::ssl::context>(asio::ssl::context::tls_server);
  SSL_CTX_set_min_proto_version(context->native_handle(), TLS1_2_VERSION);
  SSL_CTX_set_options(context->native_handle(), SSL_OP_NO_RENEGOTIATION);
  SSL_CTX_set_mode(context->native_handle(), SSL_MODE_RELEASE_BUFFERS);
  ErrorCode error;
  context->use_certificate_chain_file(files.certificate_file, error);
  if (error)
    return tl::unexpected(files.certificate_file +
                          ": not a usable certificate chain: " + error.message());
  context->use_private_key_file(files.key_file, asio::ssl::context::pem, error);
  if (error)
    return tl::unexpected(files.key_file + ": not the usable key of " + files.certificate_file +
                          ": " + error.message());
  if (SSL_CTX_check_private_key(context->native_handle()) != 1)
    return tl::unexpected(files.key_file + " is not the key of " + files.certificate_file);
  return context;
}

}  // namespace outlierd::api
