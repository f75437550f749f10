#pragma once
// HTTP/1.1 over TCP or TLS; knows no route. Keep-alive and pipelining, one request of a connection
// at a time; limits on size, time and number; gzip, ETag, security headers.
//
// Lives on the thread that runs `io`; no locks. The object may go before `io` does: what is open
// is then closed.

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <tuple>
#include <vector>

#include "daemon/api/http.h"

namespace boost::asio {
class io_context;
}

namespace outlierd::api {

struct TlsFiles {
  std::string certificate_file, key_file;
};

struct HttpOptions {
  std::string address = "127.0.0.1";  // numeric, IPv4 or IPv6
  std::uint16_t port = 9471;          // 0: any free one
  std::optional<TlsFiles> tls;
  std::size_t most_connections = 1024;
  std::size_t most_header_bytes = 16 * 1024;
  std::size_t most_target_bytes = 8 * 1024;
  std::size_t most_stream_bytes = 1 << 20;  // queued for one slow reader of a stream
  std::size_t gzip_from_bytes = 1024;
  using Time = std::chrono::milliseconds;
  Time header_time = std::chrono::seconds(10);   // from the first byte to the end of the header
  Time body_time = std::chrono::seconds(30);     // for each 256 KiB of the body
  Time idle_time = std::chrono::seconds(60);     // between requests
  Time handler_time = std::chrono::seconds(30);  // until the handler has replied
  Time write_time = std::chrono::seconds(30);    // for each 256 KiB of the answer
};

struct HttpCounters {
  std::uint64_t connections_accepted = 0, connections_refused = 0;  // refused: past the limit
  std::uint64_t connections_open = 0, streams_open = 0;
  std::uint64_t accept_failures = 0, tls_failures = 0, malformed_requests = 0;
  std::uint64_t header_timeouts = 0, body_timeouts = 0, write_timeouts = 0, handler_timeouts = 0;
  std::uint64_t slow_streams_dropped = 0, handler_failures = 0;
  std::uint64_t bytes_read = 0, bytes_written = 0;  // as the application sees them
  // By method ("other" where it is none of HTTP's own), route and status code.
  std::map<std::tuple<std::string_view, std::string_view, int>, std::uint64_t> requests;
  // From the end of the request to the answer's first byte: counts up to each bound of
  // kDurationBounds, in seconds, not cumulated, the last one beyond; and the sum of all.
  std::vector<std::uint64_t> durations;
  double duration_sum = 0.0;
};
inline constexpr double kDurationBounds[] = {0.0001, 0.0005, 0.001, 0.005, 0.01, 0.05,
                                             0.1,    0.5,    1.0,   5.0,   10.0};

class HttpCore;

class HttpServer {
 public:
  using OnError = std::function<void(std::string_view what)>;  // our failures, not the client's

  HttpServer(boost::asio::io_context& io, HttpOptions options, Dispatch dispatch, OnError on_error);
  ~HttpServer();

  tl::expected<void, std::string> start();  // binds, listens, accepts
  std::uint16_t port() const;               // the bound one
  // Reads the certificate and key again for new connections; on error the old stay in force.
  tl::expected<void, std::string> reload_tls();
  // Accepts no more, closes what is idle and the streams, lets requests under way finish until
  // `grace` has passed; then calls done.
  void stop(std::chrono::milliseconds grace, std::function<void()> done);

  const HttpCounters& counters() const;

 private:
  std::shared_ptr<HttpCore> core_;
};

}  // namespace outlierd::api
