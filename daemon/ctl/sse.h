#pragma once
// Server-sent events out of a stream of text, as it comes in pieces.

#include <string>
#include <string_view>
#include <vector>

namespace outlierd::ctl {

struct ServerEvent {
  std::string id;  // of this or the last event that had one
  std::string name = "message";
  std::string data;
};

class ServerEventReader {
 public:
  // The events that are whole now. Comments and events without data are none.
  std::vector<ServerEvent> take(std::string_view text);
  const std::string& last_id() const { return id_; }
  void reconnected();  // forgets what was half read

 private:
  void line(std::string_view line, std::vector<ServerEvent>& events);

  std::string rest_, id_, next_id_, name_, data_;
  bool has_data_ = false;
};

}  // namespace outlierd::ctl
