#pragma once
// A verb that asks the daemon one thing: the answer goes out as it came (-o json) or as text.

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "daemon/ctl/api_client.h"
#include "daemon/ctl/command.h"

namespace outlierd::ctl {

using Json = nlohmann::ordered_json;

class ApiCommand : public Command {
 public:
  int run(Session& session) final;

 protected:
  virtual tl::expected<std::string, Failure> ask(ApiClient& client, Session& session) = 0;
  // For people; an ExitCode.
  virtual int show(const Json& answer, Session& session) = 0;
};

// What is not there, or of another kind, is "-" or NaN.
std::string text_at(const Json& object, const char* key);
double number_at(const Json& object, const char* key);
std::string names_at(const Json& object, const char* key);  // "A, B"
const Json& items_of(const Json& answer);                   // of a list; else an empty array

// Any object as indented `key: value` lines.
std::string describe_json(const Json& value, int indent = 0);

std::string time_text(const std::optional<EpochSeconds>& time);  // empty when there is none

}  // namespace outlierd::ctl
