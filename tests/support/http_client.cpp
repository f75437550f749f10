#include "tests/support/http_client.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>
#include <zlib.h>

#include <cctype>
#include <cstdlib>
#include <stdexcept>

namespace outlierd::test {

HttpClient::HttpClient(int port, int receive_buffer) : socket_(socket(AF_INET, SOCK_STREAM, 0)) {
  timeval limit{.tv_sec = 10, .tv_usec = 0};
  setsockopt(socket_, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
  setsockopt(socket_, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  if (receive_buffer > 0)
    setsockopt(socket_, SOL_SOCKET, SO_RCVBUF, &receive_buffer, sizeof receive_buffer);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_port = htons(std::uint16_t(port));
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  if (connect(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0)
    throw std::runtime_error("cannot connect");
}

HttpClient::~HttpClient() { close(socket_); }

void HttpClient::send(std::string_view bytes) {
  while (!bytes.empty()) {
    const ssize_t sent = ::send(socket_, bytes.data(), bytes.size(), MSG_NOSIGNAL);
    if (sent <= 0) return;  // the peer has closed; its answer can still be read
    bytes.remove_prefix(std::size_t(sent));
  }
}

void HttpClient::end_sending() { shutdown(socket_, SHUT_WR); }

bool HttpClient::fill() {
  char block[65536];
  const ssize_t got = recv(socket_, block, sizeof block, 0);
  if (got <= 0) return false;
  buffer_.append(block, std::size_t(got));
  return true;
}

std::optional<HttpAnswer> HttpClient::receive(bool head_only) {
  std::size_t end = 0;
  while ((end = buffer_.find("\r\n\r\n")) == std::string::npos)
    if (!fill()) return std::nullopt;
  HttpAnswer answer;
  answer.status = std::atoi(buffer_.c_str() + 9);
  std::size_t line = buffer_.find("\r\n") + 2;
  while (line < end) {
    const std::size_t colon = buffer_.find(": ", line), stop = buffer_.find("\r\n", line);
    std::string name = buffer_.substr(line, colon - line);
    for (char& c : name) c = char(std::tolower(static_cast<unsigned char>(c)));
    answer.headers[name] = buffer_.substr(colon + 2, stop - colon - 2);
    line = stop + 2;
  }
  buffer_.erase(0, end + 4);
  if (head_only || answer.status == 204 || answer.status == 304 || answer.status == 100)
    return answer;
  const std::size_t length = std::strtoull(answer.header("content-length").c_str(), nullptr, 10);
  while (buffer_.size() < length)
    if (!fill()) return std::nullopt;
  answer.body = buffer_.substr(0, length);
  buffer_.erase(0, length);
  return answer;
}

std::string HttpClient::read_until(std::string_view mark) {
  while (buffer_.find(mark) == std::string::npos && fill()) continue;
  const std::size_t found = buffer_.find(mark);
  const std::size_t end = found == std::string::npos ? buffer_.size() : found + mark.size();
  std::string text = buffer_.substr(0, end);
  buffer_.erase(0, end);
  return text;
}

bool HttpClient::ended() {
  char byte = 0;
  return buffer_.empty() && recv(socket_, &byte, 1, 0) == 0;
}

std::optional<HttpAnswer> HttpClient::get(const std::string& target, const std::string& headers) {
  return ask("GET", target, headers);
}

std::optional<HttpAnswer> HttpClient::ask(const std::string& method, const std::string& target,
                                          const std::string& headers, const std::string& body) {
  std::string text = method + " " + target + " HTTP/1.1\r\nHost: test\r\n" + headers;
  if (!body.empty()) text += "Content-Length: " + std::to_string(body.size()) + "\r\n";
  send(text + "\r\n" + body);
  return receive(method == "HEAD");
}

std::string gunzip(std::string_view bytes) {
  z_stream stream{};
  inflateInit2(&stream, 15 + 16);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = uInt(bytes.size());
  std::string text;
  int status = Z_OK;
  while (status == Z_OK) {
    char block[65536];
    stream.next_out = reinterpret_cast<Bytef*>(block);
    stream.avail_out = sizeof block;
    status = inflate(&stream, Z_NO_FLUSH);
    text.append(block, sizeof block - stream.avail_out);
  }
  inflateEnd(&stream);
  return status == Z_STREAM_END ? text : "";
}

}  // namespace outlierd::test
