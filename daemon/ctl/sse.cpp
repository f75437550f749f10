#include "daemon/ctl/sse.h"

#include <utility>

namespace outlierd::ctl {

std::vector<ServerEvent> ServerEventReader::take(std::string_view text) {
  rest_ += text;
  std::vector<ServerEvent> events;
  std::size_t begin = 0;
  for (std::size_t end; (end = rest_.find('\n', begin)) != std::string::npos; begin = end + 1) {
    std::string_view whole = std::string_view(rest_).substr(begin, end - begin);
    if (whole.ends_with('\r')) whole.remove_suffix(1);
    line(whole, events);
  }
  rest_.erase(0, begin);
  return events;
}

void ServerEventReader::reconnected() {
  rest_.clear();
  name_.clear();
  data_.clear();
  next_id_ = id_;
  has_data_ = false;
}

void ServerEventReader::line(std::string_view line, std::vector<ServerEvent>& events) {
  if (line.empty()) {
    id_ = next_id_;  // only now: an event that was cut off has not been seen
    if (has_data_)
      events.push_back({id_, name_.empty() ? "message" : name_, std::exchange(data_, {})});
    name_.clear();
    has_data_ = false;
    return;
  }
  const std::size_t colon = line.find(':');
  const std::string_view field = line.substr(0, colon);
  std::string_view value = colon == std::string_view::npos ? "" : line.substr(colon + 1);
  if (value.starts_with(' ')) value.remove_prefix(1);
  if (field == "id") next_id_ = value;
  if (field == "event") name_ = value;
  if (field == "data") {
    if (has_data_) data_ += '\n';
    data_ += value;
    has_data_ = true;
  }
}

}  // namespace outlierd::ctl
