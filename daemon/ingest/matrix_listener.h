#pragma once
// Listens on a TCP, TLS or Unix socket for messages, one JSON object a line, and answers each line
// in order. Knows lines and answers, not what is in them. A line that is too long costs that line;
// a connection past the limit is told so and closed. Everything on the network thread.

#include <boost/asio/any_io_executor.hpp>
#include <boost/asio/ssl/context.hpp>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace outlierd::ingest {

struct ListenAddress {
  enum class Kind { kTcp, kTls, kUnix };
  Kind kind = Kind::kTcp;
  std::string host;  // an address
  std::uint16_t port = 0;
  std::string path;  // of a Unix socket
};

struct ListenerOptions {
  ListenAddress address = {};
  std::size_t max_line = std::size_t{64} << 20;
  std::size_t max_connections = 1000;
  std::size_t max_unanswered = 4096;       // lines of one connection
  std::chrono::seconds greeting_time{10};  // for the TLS handshake and, where needed, the token
  std::chrono::seconds write_time{30};     // a reader slower than that is let go
  std::chrono::seconds drain_time{10};     // for answers under way when stopping
  // Whether a TCP peer of that address may connect; none: anyone.
  std::function<bool(std::string_view address)> may_connect = {};
};

struct ListenerCounters {
  std::uint64_t accepted = 0, refused = 0, lines = 0, bytes = 0, lines_too_long = 0;
  std::uint64_t unauthorized = 0, broken = 0;  // broken: ended by an error or a timeout
  std::size_t open = 0;
};

// Whether whoever sends may go on.
struct Backlog {
  bool full = false;
};

class MatrixListener {
 public:
  // Once, on the network thread; an empty line is not sent.
  using Answer = std::function<void(std::string line)>;
  // The line is followed by MatrixDecoder::kPadding readable bytes. Until the backlog returned, if
  // any, is no longer full, nothing more is read from that connection.
  using OnLine =
      std::function<const Backlog*(std::string_view line, std::uint64_t number, Answer answer)>;
  // Whether a peer may send: token is empty before the first line.
  using MayIngest = std::function<bool(std::string_view token, bool loopback)>;

  // Throws std::runtime_error saying which address and why.
  MatrixListener(boost::asio::any_io_executor network, ListenerOptions options,
                 std::shared_ptr<boost::asio::ssl::context> tls, OnLine on_line,
                 MayIngest may_ingest);
  ~MatrixListener();

  void use_tls(std::shared_ptr<boost::asio::ssl::context> tls);  // for connections from now on
  // No more connections and no more lines; then, when every line has its answer, done.
  void stop(std::function<void()> done);

  std::uint16_t port() const;  // as bound
  const ListenerCounters& counters() const;

 private:
  class State;
  std::shared_ptr<State> state_;
};

}  // namespace outlierd::ingest
