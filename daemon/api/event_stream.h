#pragma once
// Server-sent events: what happened, to everybody who listens, and again to who comes back.
//
// Every message has an id one higher than the last; the first is taken from the clock, so that ids
// also grow from run to run. A ring of the newest messages is kept: a client that names the last id
// it saw gets what it missed, or a `reset` event when that is no longer known. Net thread only.

#include <cstdint>
#include <deque>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "daemon/api/http.h"

namespace outlierd::api {

struct EventStreamOptions {
  std::size_t most_messages = 10000;
  std::size_t most_bytes = 8 << 20;
};

class EventStream {
 public:
  EventStream(EventStreamOptions options, std::uint64_t first_id);

  // json is one line.
  void publish(std::string_view event, const std::string& network, std::string_view json);
  void add(std::shared_ptr<Stream> client, std::optional<std::string> network,
           std::optional<std::uint64_t> last_seen);
  void heartbeat();
  std::size_t clients() const { return clients_.size(); }
  std::uint64_t last_id() const { return next_id_ - 1; }

 private:
  struct Message {
    std::uint64_t id;
    std::string network;
    std::shared_ptr<const std::string> text;
  };
  struct Client {
    std::shared_ptr<Stream> stream;
    std::optional<std::string> network;
    bool closed = false;
  };
  void send(const std::string* network, const std::shared_ptr<const std::string>& text);
  std::string missed_since(std::uint64_t last_seen,
                           const std::optional<std::string>& network) const;

  const EventStreamOptions options_;
  std::uint64_t next_id_;
  std::deque<Message> ring_;
  std::size_t bytes_ = 0;
  std::list<std::shared_ptr<Client>> clients_;
};

}  // namespace outlierd::api
