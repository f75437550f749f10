#include "daemon/ingest/matrix_listener.h"

#include <fmt/format.h>
#include <sys/stat.h>
#include <unistd.h>

#include <boost/asio/as_tuple.hpp>
#include <boost/asio/awaitable.hpp>
#include <boost/asio/bind_cancellation_slot.hpp>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/local/stream_protocol.hpp>
#include <boost/asio/ssl/stream.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>
#include <deque>
#include <optional>
#include <set>
#include <stdexcept>

#include "daemon/ingest/answer.h"
#include "daemon/ingest/decode_matrix.h"
#include "daemon/ingest/line_buffer.h"

namespace outlierd::ingest {
namespace {

namespace asio = boost::asio;
using asio::ip::tcp;
using Unix = asio::local::stream_protocol;
using TlsStream = asio::ssl::stream<tcp::socket>;
using boost::system::error_code;
using namespace std::chrono_literals;

constexpr auto kNoThrow = asio::as_tuple(asio::use_awaitable);
constexpr auto kLookAgain = 1ms;  // while a backlog is full

tcp::socket& socket_of(tcp::socket& stream) { return stream; }
tcp::socket& socket_of(TlsStream& stream) { return stream.next_layer(); }
Unix::socket& socket_of(Unix::socket& stream) { return stream; }

// What a session and its listener know of each other.
struct Shared {
  ListenerOptions options;
  MatrixListener::OnLine on_line;
  MatrixListener::MayIngest may_ingest;
  ListenerCounters counters;
};

class AnySession {
 public:
  virtual ~AnySession() = default;
  virtual void stop() = 0;
};

// One connection: a reader that hands on lines, and a writer that sends the answers in order. Both
// are coroutines of the network thread and keep the session alive.
template <class Stream>
class Session : public AnySession, public std::enable_shared_from_this<Session<Stream>> {
 public:
  Session(Stream stream, bool loopback, std::shared_ptr<Shared> shared)
      : stream_(std::move(stream)),
        loopback_(loopback),
        shared_(std::move(shared)),
        buffer_(shared_->options.max_line, MatrixDecoder::kPadding),
        changed_(stream_.get_executor()),
        deadline_(stream_.get_executor()) {
    changed_.expires_at(asio::steady_timer::time_point::max());
  }

  asio::awaitable<void> run() {
    auto self = this->shared_from_this();
    if (co_await greet()) {
      asio::co_spawn(stream_.get_executor(), write_answers(),
                     [self](std::exception_ptr) { self->close(); });
      co_await read_lines();
      reading_ = false;
      changed_.cancel();
      while (writing_) co_await changed_.async_wait(kNoThrow);
    }
    co_await say_goodbye();
    close();
  }

  void stop() override {
    stopping_ = true;
    error_code ignored;
    socket_of(stream_).shutdown(asio::socket_base::shutdown_receive, ignored);
    limit(shared_->options.drain_time);
    changed_.cancel();
  }

 private:
  // Ends the connection unless the deadline is moved before.
  void limit(std::chrono::steady_clock::duration time) {
    deadline_.expires_after(time);
    deadline_.async_wait([weak = this->weak_from_this()](error_code error) {
      const auto self = weak.lock();
      if (!self || error) return;
      ++self->shared_->counters.broken;
      self->close();
    });
  }

  void close() {
    deadline_.cancel();
    error_code ignored;
    socket_of(stream_).close(ignored);
  }

  asio::awaitable<bool> greet() {
    limit(shared_->options.greeting_time);
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      const auto [error] =
          co_await stream_.async_handshake(asio::ssl::stream_base::server, kNoThrow);
      if (error) {
        ++shared_->counters.broken;
        co_return false;
      }
    }
    allowed_ = shared_->may_ingest("", loopback_);
    if (allowed_) deadline_.cancel();
    co_return true;
  }

  asio::awaitable<void> say_goodbye() {
    if constexpr (std::is_same_v<Stream, TlsStream>) {
      limit(2s);
      co_await stream_.async_shutdown(kNoThrow);
    }
  }

  asio::awaitable<void> read_lines() {
    while (!stopping_) {
      const auto [data, size] = buffer_.room();
      const auto [error, bytes] =
          co_await stream_.async_read_some(asio::buffer(data, size), kNoThrow);
      shared_->counters.bytes += bytes;
      buffer_.filled(bytes);
      std::string_view line;
      for (auto found = buffer_.next(line); found != LineBuffer::Found::kNothing;
           found = buffer_.next(line)) {
        if (!take(line, found)) co_return;
        co_await wait_for_room();
        if (stopping_) co_return;  // what was not taken was not answered
      }
      if (error) {
        if (error == asio::error::eof && !stopping_)
          if (const auto found = buffer_.last(line); found != LineBuffer::Found::kNothing)
            take(line, found);
        co_return;
      }
      buffer_.shrink();
    }
  }

  // False when the connection is to end.
  bool take(std::string_view line, LineBuffer::Found found) {
    ++number_;
    if (found == LineBuffer::Found::kTooLong) {
      ++shared_->counters.lines_too_long;
      answer_slot()(refused_answer(
          number_, fmt::format("line longer than {} bytes", shared_->options.max_line)));
      return true;
    }
    if (line.empty()) return true;
    ++shared_->counters.lines;
    if (number_ == 1 || !allowed_) {
      const std::string token = token_of(line);
      if (!token.empty()) {
        allowed_ = shared_->may_ingest(token, loopback_);
        if (allowed_) {
          deadline_.cancel();
          answer_slot()(welcome_answer());
          return true;
        }
      }
      if (!allowed_) {
        ++shared_->counters.unauthorized;
        answer_slot()(refused_answer(number_, token.empty()
                                                  ? "the first line must be {\"token\":\"...\"}"
                                                  : "this token may not send matrices"));
        return false;
      }
    }
    backlog_ = shared_->on_line(line, number_, answer_slot());
    return true;
  }

  asio::awaitable<void> wait_for_room() {
    while (slots_.size() >= shared_->options.max_unanswered && !stopping_ && is_open())
      co_await changed_.async_wait(kNoThrow);
    while (backlog_ && backlog_->full && !stopping_ && is_open()) {
      asio::steady_timer timer(stream_.get_executor(), kLookAgain);
      co_await timer.async_wait(kNoThrow);
    }
  }

  bool is_open() { return socket_of(stream_).is_open(); }

  // The place of the next answer; the function fills it.
  MatrixListener::Answer answer_slot() {
    slots_.emplace_back();
    return [weak = this->weak_from_this(), at = first_slot_ + slots_.size() - 1](std::string line) {
      const auto self = weak.lock();
      if (!self) return;
      self->slots_[at - self->first_slot_] = std::move(line);
      if (at == self->first_slot_) self->changed_.cancel();
    };
  }

  asio::awaitable<void> write_answers() {
    const auto self = this->shared_from_this();
    while (reading_ || !slots_.empty()) {
      std::string text;
      bool room = false;
      while (!slots_.empty() && slots_.front()) {
        if (!slots_.front()->empty()) {
          text += *slots_.front();
          text += '\n';
        }
        slots_.pop_front();
        ++first_slot_;
        room = true;
      }
      if (text.empty()) {
        if (room) changed_.cancel();
        if (!reading_ && slots_.empty()) break;
        co_await changed_.async_wait(kNoThrow);
        if (!is_open()) break;
        continue;
      }
      if (!stopping_) limit(shared_->options.write_time);
      const auto [error, bytes] = co_await asio::async_write(stream_, asio::buffer(text), kNoThrow);
      if (error) {
        close();
        break;
      }
      if (!stopping_ && allowed_) deadline_.cancel();
      changed_.cancel();  // there is room again
    }
    writing_ = false;
    changed_.cancel();
  }

  Stream stream_;
  const bool loopback_;
  std::shared_ptr<Shared> shared_;
  LineBuffer buffer_;
  asio::steady_timer changed_;  // cancelled whenever a reader or writer should look again
  asio::steady_timer deadline_;
  std::uint64_t number_ = 0;
  bool allowed_ = false, reading_ = true, writing_ = true, stopping_ = false;
  const Backlog* backlog_ = nullptr;
  std::deque<std::optional<std::string>> slots_;  // answers, in the order of the lines
  std::uint64_t first_slot_ = 0;
};

std::string text_of(const ListenAddress& address) {
  if (address.kind == ListenAddress::Kind::kUnix) return "unix:" + address.path;
  return fmt::format("{}://{}:{}", address.kind == ListenAddress::Kind::kTls ? "tls" : "tcp",
                     address.host, address.port);
}

}  // namespace

class MatrixListener::State : public std::enable_shared_from_this<State> {
 public:
  State(asio::any_io_executor network, std::shared_ptr<Shared> shared,
        std::shared_ptr<asio::ssl::context> tls)
      : network_(std::move(network)), shared_(std::move(shared)), tls_(std::move(tls)) {
    try {
      if (shared_->options.address.kind == ListenAddress::Kind::kUnix) {
        listen_unix();
      } else {
        listen_tcp();
      }
    } catch (const std::exception& error) {
      throw std::runtime_error(
          fmt::format("cannot listen on {}: {}", text_of(shared_->options.address), error.what()));
    }
  }

  void start() {
    if (tcp_) asio::co_spawn(network_, accept(*tcp_), reported());
    if (unix_) asio::co_spawn(network_, accept(*unix_), reported());
  }

  void stop(std::function<void()> done) {
    stopping_ = true;
    error_code ignored;
    if (tcp_) tcp_->close(ignored);
    if (unix_) {
      unix_->close(ignored);
      ::unlink(shared_->options.address.path.c_str());
    }
    done_ = std::move(done);
    for (const auto& session : sessions_) session->stop();
    finish_if_done();
  }

  std::uint16_t port() const { return tcp_ ? tcp_->local_endpoint().port() : std::uint16_t{0}; }
  std::shared_ptr<Shared> shared() const { return shared_; }
  void use_tls(std::shared_ptr<asio::ssl::context> tls) { tls_ = std::move(tls); }

 private:
  void listen_tcp() {
    const ListenAddress& address = shared_->options.address;
    const tcp::endpoint endpoint(asio::ip::make_address(address.host), address.port);
    tcp_.emplace(network_, endpoint);
  }

  void listen_unix() {
    const std::string& path = shared_->options.address.path;
    // A socket left behind by a daemon that was killed: nobody answers on it.
    Unix::socket probe(network_);
    error_code error;
    probe.connect(Unix::endpoint(path), error);
    if (!error) throw std::runtime_error("another process listens there");
    struct stat found {};
    if (::stat(path.c_str(), &found) == 0 && S_ISSOCK(found.st_mode)) ::unlink(path.c_str());
    unix_.emplace(network_, Unix::endpoint(path));
    ::chmod(path.c_str(), 0660);
  }

  std::function<void(std::exception_ptr)> reported() {
    return [shared = shared_](std::exception_ptr error) {
      if (error) ++shared->counters.broken;
    };
  }

  template <class Acceptor>
  asio::awaitable<void> accept(Acceptor& acceptor) {
    const auto self = shared_from_this();
    while (!stopping_) {
      auto [error, socket] = co_await acceptor.async_accept(kNoThrow);
      if (stopping_) co_return;
      if (error) {  // out of descriptors, most likely: let some end
        asio::steady_timer timer(network_, 50ms);
        co_await timer.async_wait(kNoThrow);
        continue;
      }
      if (!may_connect(socket)) {
        ++shared_->counters.unauthorized;
        continue;
      }
      if (shared_->counters.open >= shared_->options.max_connections) {
        ++shared_->counters.refused;
        const std::string text = refused_answer(0, "too many connections") + '\n';
        error_code ignored;
        socket.non_blocking(true, ignored);
        socket.write_some(asio::buffer(text), ignored);
        continue;
      }
      ++shared_->counters.accepted;
      begin(std::move(socket));
    }
  }

  static bool may_connect(const Unix::socket&) { return true; }
  bool may_connect(const tcp::socket& socket) const {
    if (!shared_->options.may_connect) return true;
    error_code error;
    const tcp::endpoint peer = socket.remote_endpoint(error);
    return !error && shared_->options.may_connect(peer.address().to_string());
  }

  void begin(Unix::socket socket) {
    run(std::make_shared<Session<Unix::socket>>(std::move(socket), true, shared_));
  }
  void begin(tcp::socket socket) {
    error_code ignored;
    socket.set_option(tcp::no_delay(true), ignored);
    socket.set_option(asio::socket_base::keep_alive(true), ignored);
    const tcp::endpoint peer = socket.remote_endpoint(ignored);
    const bool loopback = !ignored && peer.address().is_loopback();
    if (tls_)
      return run(std::make_shared<Session<TlsStream>>(TlsStream(std::move(socket), *tls_), loopback,
                                                      shared_));
    run(std::make_shared<Session<tcp::socket>>(std::move(socket), loopback, shared_));
  }

  template <class Stream>
  void run(std::shared_ptr<Session<Stream>> session) {
    ++shared_->counters.open;
    sessions_.insert(session);
    asio::co_spawn(network_, session->run(),
                   [self = shared_from_this(), session](std::exception_ptr error) {
                     if (error) ++self->shared_->counters.broken;
                     --self->shared_->counters.open;
                     self->sessions_.erase(session);
                     self->finish_if_done();
                   });
  }

  void finish_if_done() {
    if (!done_ || !sessions_.empty()) return;
    std::exchange(done_, {})();
  }

  asio::any_io_executor network_;
  std::shared_ptr<Shared> shared_;
  std::shared_ptr<asio::ssl::context> tls_;
  std::optional<tcp::acceptor> tcp_;
  std::optional<Unix::acceptor> unix_;
  std::set<std::shared_ptr<AnySession>> sessions_;
  std::function<void()> done_;
  bool stopping_ = false;
};

MatrixListener::MatrixListener(asio::any_io_executor network, ListenerOptions options,
                               std::shared_ptr<asio::ssl::context> tls, OnLine on_line,
                               MayIngest may_ingest) {
  auto shared = std::make_shared<Shared>(
      Shared{std::move(options), std::move(on_line), std::move(may_ingest), {}});
  state_ = std::make_shared<State>(std::move(network), std::move(shared), std::move(tls));
  state_->start();
}
MatrixListener::~MatrixListener() = default;

void MatrixListener::use_tls(std::shared_ptr<asio::ssl::context> tls) {
  state_->use_tls(std::move(tls));
}
void MatrixListener::stop(std::function<void()> done) { state_->stop(std::move(done)); }
std::uint16_t MatrixListener::port() const { return state_->port(); }
const ListenerCounters& MatrixListener::counters() const { return state_->shared()->counters; }

}  // namespace outlierd::ingest
