#include "daemon/api/event_stream.h"

namespace outlierd::api {

EventStream::EventStream(EventStreamOptions options, std::uint64_t first_id)
    : options_(options), next_id_(first_id) {}

void EventStream::publish(std::string_view event, const std::string& network,
                          std::string_view json) {
  std::string line = "id: " + std::to_string(next_id_) + "\nevent: ";
  line.append(event).append("\ndata: ").append(json).append("\n\n");
  const auto text = std::make_shared<const std::string>(std::move(line));
  ring_.push_back({next_id_++, network, text});
  bytes_ += text->size();
  while (!ring_.empty() &&
         (ring_.size() > options_.most_messages || bytes_ > options_.most_bytes)) {
    bytes_ -= ring_.front().text->size();
    ring_.pop_front();
  }
  send(&network, text);
}

void EventStream::heartbeat() {
  static const auto kBeat = std::make_shared<const std::string>(": heartbeat\n\n");
  send(nullptr, kBeat);
}

void EventStream::send(const std::string* network, const std::shared_ptr<const std::string>& text) {
  for (const auto& client : clients_)
    if (!network || !client->network || *client->network == *network)
      client->closed = !client->stream->write(text) || client->closed;
  clients_.remove_if([](const std::shared_ptr<Client>& client) { return client->closed; });
}

void EventStream::add(std::shared_ptr<Stream> stream, std::optional<std::string> network,
                      std::optional<std::uint64_t> last_seen) {
  auto client = std::make_shared<Client>(Client{std::move(stream), std::move(network)});
  // Only marked: it may happen while the list is being walked.
  client->stream->on_close = [weak = std::weak_ptr<Client>(client)] {
    if (const auto alive = weak.lock()) alive->closed = true;
  };
  // As one piece: a queue takes any one message, and a client that is merely coming back must not
  // be dropped for what it missed.
  std::string greeting = "retry: 3000\n\n";
  if (last_seen) greeting += missed_since(*last_seen, client->network);
  client->stream->write(std::make_shared<const std::string>(std::move(greeting)));
  clients_.remove_if([](const std::shared_ptr<Client>& each) { return each->closed; });
  if (!client->closed) clients_.push_back(std::move(client));
}

std::string EventStream::missed_since(std::uint64_t last_seen,
                                      const std::optional<std::string>& network) const {
  const std::uint64_t oldest = ring_.empty() ? next_id_ : ring_.front().id;
  if (last_seen + 1 < oldest || last_seen >= next_id_)
    return "id: " + std::to_string(next_id_ - 1) +
           "\nevent: reset\ndata: {\"reason\":\"what was missed is no longer known\"}\n\n";
  std::string missed;
  for (const Message& message : ring_)
    if (message.id > last_seen && (!network || *network == message.network))
      missed += *message.text;
  return missed;
}

}  // namespace outlierd::api
