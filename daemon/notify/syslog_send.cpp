#include <boost/asio/connect.hpp>
#include <boost/asio/ip/tcp.hpp>
#include <boost/asio/ip/udp.hpp>
#include <boost/asio/local/datagram_protocol.hpp>
#include <boost/asio/this_coro.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <boost/asio/write.hpp>

#include "daemon/notify/delivery.h"
#include "daemon/notify/syslog_line.h"

namespace outlierd::notify {
namespace {

namespace asio = boost::asio;

template <class Protocol>
asio::awaitable<typename Protocol::socket> connected(const SyslogTarget& target) {
  const auto executor = co_await asio::this_coro::executor;
  typename Protocol::resolver resolver(executor);
  const auto found = co_await resolver.async_resolve(target.host, std::to_string(target.port),
                                                     asio::use_awaitable);
  typename Protocol::socket socket(executor);
  co_await asio::async_connect(socket, found, asio::use_awaitable);
  co_return socket;
}

}  // namespace

Delivery send_syslog(SyslogTarget target, std::string line) try {
  if (target.transport == SyslogTransport::kTcp) {
    auto socket = co_await connected<asio::ip::tcp>(target);
    const std::string text = framed(line);
    co_await asio::async_write(socket, asio::buffer(text), asio::use_awaitable);
    boost::system::error_code ignored;  // it has all of it
    socket.shutdown(asio::ip::tcp::socket::shutdown_send, ignored);
  } else if (target.transport == SyslogTransport::kUdp) {
    auto socket = co_await connected<asio::ip::udp>(target);
    co_await socket.async_send(asio::buffer(line), asio::use_awaitable);
  } else {
    const auto executor = co_await asio::this_coro::executor;
    asio::local::datagram_protocol::socket socket(executor);
    const asio::local::datagram_protocol::endpoint at(target.path);
    co_await socket.async_connect(at, asio::use_awaitable);
    co_await socket.async_send(asio::buffer(line), asio::use_awaitable);
  }
  co_return "sent";
} catch (const boost::system::system_error& error) {
  co_return tl::unexpected(Refusal{error.code().message()});
} catch (const std::exception& error) {
  co_return tl::unexpected(Refusal{error.what()});
}

}  // namespace outlierd::notify
