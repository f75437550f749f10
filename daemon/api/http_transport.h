#pragma once
// Bytes over a socket, plain or TLS, as coroutines. Errors are codes. Internal to the server.

#include <array>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/buffer.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "daemon/api/http_server.h"

namespace boost::asio::ssl {
class context;
}

namespace outlierd::api {

using boost::asio::awaitable;
using boost::asio::ip::tcp;
using ErrorCode = boost::system::error_code;

struct Transferred {
  ErrorCode error;
  std::size_t bytes = 0;
};

class Transport {
 public:
  virtual ~Transport() = default;
  virtual awaitable<ErrorCode> open() = 0;  // the TLS handshake
  virtual awaitable<Transferred> read(boost::asio::mutable_buffer into) = 0;
  virtual awaitable<Transferred> write(std::array<boost::asio::const_buffer, 2> bytes) = 0;
  virtual awaitable<void> end_writing() = 0;  // says that nothing more will come
  virtual tcp::socket& socket() = 0;
};

using TlsContext = std::shared_ptr<boost::asio::ssl::context>;

std::unique_ptr<Transport> plain_transport(tcp::socket socket);
std::unique_ptr<Transport> tls_transport(tcp::socket socket, TlsContext context);
// TLS 1.2 or later; the key must be the certificate's.
tl::expected<TlsContext, std::string> load_tls(const TlsFiles& files);

}  // namespace outlierd::api
