#include "daemon/ctl/connection.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <netdb.h>
#include <netinet/tcp.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509v3.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cmath>
#include <cstring>
#include <optional>
#include <system_error>
#include <utility>

#include "daemon/ctl/progress.h"

namespace outlierd::ctl {
namespace {

constexpr std::size_t kReadBytes = 1 << 16;
constexpr std::size_t kWriteBytes = 1 << 18;

std::string socket_reason(int error) { return std::generic_category().message(error); }

class Socket {
 public:
  explicit Socket(int descriptor) : descriptor_(descriptor) {}
  ~Socket() {
    if (descriptor_ >= 0) close(descriptor_);
  }
  Socket(Socket&& other) noexcept : descriptor_(std::exchange(other.descriptor_, -1)) {}
  Socket& operator=(Socket&& other) noexcept {
    std::swap(descriptor_, other.descriptor_);
    return *this;
  }
  int get() const { return descriptor_; }

 private:
  int descriptor_;
};

// Events that came true; 0 after the time.
short wait_for(int descriptor, short events, double seconds) {
  pollfd watched{descriptor, events, 0};
  const int milliseconds = int(std::ceil(std::clamp(seconds, 0.0, 3600.0) * 1000.0));
  return poll(&watched, 1, milliseconds) > 0 ? watched.revents : short{0};
}

tl::expected<Socket, std::string> connect_to(const sockaddr* name, socklen_t length, int family,
                                             double seconds) {
  Socket socket(::socket(family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (socket.get() < 0) return tl::unexpected(socket_reason(errno));
  if (connect(socket.get(), name, length) != 0) {
    if (errno != EINPROGRESS && errno != EAGAIN) return tl::unexpected(socket_reason(errno));
    if (wait_for(socket.get(), POLLOUT, seconds) == 0)
      return tl::unexpected(fmt::format("no answer in {:g} s", seconds));
    int error = 0;
    socklen_t size = sizeof error;
    getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return tl::unexpected(socket_reason(error));
  }
  return socket;
}

tl::expected<Socket, std::string> connect_unix(const std::string& path, double seconds) {
  sockaddr_un name{};
  name.sun_family = AF_UNIX;
  if (path.size() >= sizeof name.sun_path)
    return tl::unexpected(std::string("the path is too long for a socket"));
  std::memcpy(name.sun_path, path.c_str(), path.size() + 1);
  return connect_to(reinterpret_cast<const sockaddr*>(&name), sizeof name, AF_UNIX, seconds);
}

tl::expected<Socket, std::string> connect_tcp(const Address& address, double seconds) {
  addrinfo hints{};
  hints.ai_socktype = SOCK_STREAM;
  addrinfo* found = nullptr;
  const int status = getaddrinfo(address.host.c_str(), address.port.c_str(), &hints, &found);
  if (status != 0) return tl::unexpected(std::string(gai_strerror(status)));
  const std::unique_ptr<addrinfo, void (*)(addrinfo*)> list(found, freeaddrinfo);
  std::string reason = "no address";
  for (const addrinfo* each = found; each != nullptr; each = each->ai_next) {
    auto socket = connect_to(each->ai_addr, each->ai_addrlen, each->ai_family, seconds);
    if (socket) {
      const int on = 1;
      setsockopt(socket->get(), IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
      return socket;
    }
    reason = socket.error();
  }
  return tl::unexpected(reason);
}

std::string tls_reason(const SSL* tls) {
  if (tls != nullptr) {
    const long verified = SSL_get_verify_result(tls);
    if (verified != X509_V_OK)
      return fmt::format("its certificate is not trusted: {}",
                         X509_verify_cert_error_string(verified));
  }
  std::array<char, 256> text{};
  const unsigned long code = ERR_get_error();
  if (code == 0) return "TLS: the connection broke";
  ERR_error_string_n(code, text.data(), text.size());
  return fmt::format("TLS: {}", text.data());
}

struct FreeTls {
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
};

}  // namespace

class Connection::State {
 public:
  explicit State(Socket socket) : socket_(std::move(socket)) {}

  tl::expected<void, std::string> start_tls(const Address& address,
                                            const ConnectionOptions& options) {
    context_.reset(SSL_CTX_new(TLS_client_method()));
    if (!context_) return tl::unexpected(tls_reason(nullptr));
    SSL_CTX_set_min_proto_version(context_.get(), TLS1_2_VERSION);
    SSL_CTX_set_verify(context_.get(), SSL_VERIFY_PEER, nullptr);
    SSL_CTX_set_mode(context_.get(),
                     SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER);
    const bool loaded =
        options.ca_file.empty()
            ? SSL_CTX_set_default_verify_paths(context_.get()) == 1
            : SSL_CTX_load_verify_file(context_.get(), options.ca_file.c_str()) == 1;
    if (!loaded) return tl::unexpected(options.ca_file + ": holds no certificates");
    tls_.reset(SSL_new(context_.get()));
    if (!tls_ || SSL_set_fd(tls_.get(), socket_.get()) != 1)
      return tl::unexpected(tls_reason(nullptr));
    X509_VERIFY_PARAM* checks = SSL_get0_param(tls_.get());
    if (X509_VERIFY_PARAM_set1_ip_asc(checks, address.host.c_str()) != 1) {
      SSL_set1_host(tls_.get(), address.host.c_str());
      SSL_set_tlsext_host_name(tls_.get(), address.host.c_str());
    }
    ERR_clear_error();
    const double end = steady_seconds() + options.connect_seconds;
    while (true) {
      const int status = SSL_connect(tls_.get());
      if (status == 1) return {};
      const auto wanted = wanted_events(status);
      if (!wanted) return tl::unexpected(tls_reason(tls_.get()));
      if (wait_for(socket_.get(), *wanted, end - steady_seconds()) == 0)
        return tl::unexpected(fmt::format("no TLS answer in {:g} s", options.connect_seconds));
    }
  }

  tl::expected<Outcome, std::string> exchange(std::string& out, std::string& in, double seconds) {
    const double end = steady_seconds() + seconds;
    while (true) {
      short waits = 0;
      const auto sent = out.empty() ? Step{} : send_some(out, waits);
      const auto received = receive_some(in, waits);
      if (!sent.reason.empty() && !received.moved) return tl::unexpected(sent.reason);
      if (!received.reason.empty()) return tl::unexpected(received.reason);
      if (sent.moved || received.moved) return Outcome::kMoved;
      if (received.closed) return Outcome::kClosed;
      const double left = end - steady_seconds();
      if (left <= 0 || wait_for(socket_.get(), waits, left) == 0) return Outcome::kTimeout;
    }
  }

 private:
  struct Step {
    bool moved = false, closed = false;
    std::string reason;  // not empty: it failed
  };

  Step send_some(std::string& out, short& waits) {
    const std::size_t part = std::min(out.size(), kWriteBytes);
    const auto status = tls_ ? SSL_write(tls_.get(), out.data(), int(part))
                             : send(socket_.get(), out.data(), part, MSG_NOSIGNAL);
    if (status > 0) {
      out.erase(0, std::size_t(status));
      return {.moved = true, .closed = false, .reason = {}};
    }
    return failed(int(status), POLLOUT, waits);
  }

  Step receive_some(std::string& in, short& waits) {
    const std::size_t before = in.size();
    in.resize(before + kReadBytes);
    const auto status = tls_ ? SSL_read(tls_.get(), in.data() + before, int(kReadBytes))
                             : recv(socket_.get(), in.data() + before, kReadBytes, 0);
    in.resize(before + std::size_t(std::max<long>(0, long(status))));
    if (status > 0) return {.moved = true, .closed = false, .reason = {}};
    if (status == 0 && !tls_) return {.moved = false, .closed = true, .reason = {}};
    return failed(int(status), POLLIN, waits);
  }

  Step failed(int status, short events, short& waits) {
    if (!tls_) {
      waits = short(waits | events);
      if (errno == EAGAIN || errno == EINTR) return {};
      return {.moved = false, .closed = false, .reason = socket_reason(errno)};
    }
    if (SSL_get_error(tls_.get(), status) == SSL_ERROR_ZERO_RETURN)
      return {.moved = false, .closed = true, .reason = {}};
    const auto wanted = wanted_events(status);
    if (!wanted) return {.moved = false, .closed = false, .reason = tls_reason(tls_.get())};
    waits = short(waits | *wanted);
    return {};
  }

  // What TLS waits for; nothing when it has failed.
  std::optional<short> wanted_events(int status) const {
    switch (SSL_get_error(tls_.get(), status)) {
      case SSL_ERROR_WANT_READ:
        return short{POLLIN};
      case SSL_ERROR_WANT_WRITE:
        return short{POLLOUT};
      default:
        return std::nullopt;
    }
  }

  Socket socket_;
  std::unique_ptr<SSL_CTX, FreeTls> context_;
  std::unique_ptr<SSL, FreeTls> tls_;
};

Connection::Connection(std::unique_ptr<State> state) : state_(std::move(state)) {}
Connection::~Connection() = default;
Connection::Connection(Connection&&) noexcept = default;
Connection& Connection::operator=(Connection&&) noexcept = default;

tl::expected<Connection, std::string> Connection::open(const Address& address,
                                                       const ConnectionOptions& options) {
  auto socket = address.scheme == Scheme::kUnix
                    ? connect_unix(address.host, options.connect_seconds)
                    : connect_tcp(address, options.connect_seconds);
  if (!socket) return tl::unexpected(socket.error());
  auto state = std::make_unique<State>(std::move(*socket));
  if (address.encrypted())
    if (auto secured = state->start_tls(address, options); !secured)
      return tl::unexpected(secured.error());
  return Connection(std::move(state));
}

tl::expected<Connection::Outcome, std::string> Connection::exchange(std::string& out,
                                                                    std::string& in,
                                                                    double seconds) {
  return state_->exchange(out, in, seconds);
}

}  // namespace outlierd::ctl
