#pragma once
// The daemon's HTTP API as the verbs use it: bodies of good answers, and for everything else one
// sentence and the exit code it means.

#include <cstddef>
#include <functional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "daemon/ctl/http.h"
#include "daemon/ctl/session.h"

namespace outlierd::ctl {

struct Failure {
  std::string reason;
  ExitCode code = kFailed;
};

// First line of the file, without blanks around it; empty when no file is named.
tl::expected<std::string, std::string> read_token(const std::string& file);

class ApiClient {
 public:
  // For the session's --url, --token-file and --ca-file.
  static tl::expected<ApiClient, Failure> of(const Session& session);

  tl::expected<std::string, Failure> get(const std::string& target);
  tl::expected<std::string, Failure> send(const std::string& method, const std::string& target,
                                          const std::string& body = {}, double seconds = 30.0);
  // {"items":[...],"next":null}: page after page, up to `limit` items; one page as it came.
  tl::expected<std::string, Failure> list(const std::string& target, int limit);
  tl::expected<void, Failure> follow(const std::string& target, const std::string& last_event_id,
                                     double quiet_seconds,
                                     const std::function<bool(std::string_view)>& on_text);

 private:
  explicit ApiClient(HttpClient client) : client_(std::move(client)) {}
  Failure unreachable(const std::string& reason) const;
  Failure refused(const HttpAnswer& answer) const;

  HttpClient client_;
};

// "?a=1&b=2" of what is not empty, encoded.
class Query {
 public:
  Query& add(std::string_view name, std::string_view value);
  const std::string& text() const { return text_; }

 private:
  std::string text_;
};

}  // namespace outlierd::ctl
