#pragma once
// One verb of outlierctl. A new verb is one file that implements this and one line in verbs.cpp.

#include <memory>
#include <string_view>
#include <vector>

#include "daemon/ctl/arguments.h"
#include "daemon/ctl/session.h"

namespace outlierd::ctl {

class Command {
 public:
  virtual ~Command() = default;
  virtual std::string_view name() const = 0;  // "push", or with its group: "silence add"
  virtual void describe(Arguments& arguments) = 0;
  virtual int run(Session& session) = 0;  // an ExitCode
};

using Commands = std::vector<std::unique_ptr<Command>>;

}  // namespace outlierd::ctl
