#pragma once
// A byte stream to a daemon over TCP, TLS or a Unix socket, sending and receiving at once, so that
// neither side can wait for the other with full buffers.
//
// TLS: the daemon's certificate is checked against the system's authorities or a given file, and
// against the host's name. Every failure is a sentence. One object, one thread.

#include <memory>
#include <string>
#include <tl/expected.hpp>

#include "daemon/ctl/address.h"

namespace outlierd::ctl {

struct ConnectionOptions {
  double connect_seconds = 5.0;
  std::string ca_file;  // empty: the system's
};

class Connection {
 public:
  static tl::expected<Connection, std::string> open(const Address& address,
                                                    const ConnectionOptions& options = {});
  ~Connection();
  Connection(Connection&&) noexcept;
  Connection& operator=(Connection&&) noexcept;

  enum class Outcome { kMoved, kTimeout, kClosed };
  // Sends what it can of the front of `out` (and removes it), appends to `in` what has arrived;
  // waits up to `seconds` until either moves. Closed: the other side will send no more.
  tl::expected<Outcome, std::string> exchange(std::string& out, std::string& in, double seconds);

 private:
  class State;
  explicit Connection(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

}  // namespace outlierd::ctl
