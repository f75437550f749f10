// The verbs of outlierctl, in the order of its help. A line here and a file verb_<name>.cpp that
// defines make_<name>() is all a new one needs.

#include "daemon/ctl/program.h"

// clang-format off
#define OUTLIERD_VERBS(verb) \
  verb(simulate) \
  verb(inject) \
  verb(replay) \
  verb(evaluate) \
  verb(push) \
  verb(flows) \
  verb(decode) \
  verb(status) \
  verb(networks) \
  verb(network) \
  verb(matrix) \
  verb(series) \
  verb(events) \
  verb(event) \
  verb(ack) \
  verb(silence_add) \
  verb(silence_list) \
  verb(silence_expire) \
  verb(watch) \
  verb(backup) \
  verb(notify_test) \
  verb(completion) \
  verb(man)
// clang-format on

namespace outlierd::ctl {

#define OUTLIERD_DECLARE(name) std::unique_ptr<Command> make_##name();
OUTLIERD_VERBS(OUTLIERD_DECLARE)

Commands all_commands() {
  Commands commands;
#define OUTLIERD_ADD(name) commands.push_back(make_##name());
  OUTLIERD_VERBS(OUTLIERD_ADD)
  return commands;
}

}  // namespace outlierd::ctl
