#pragma once
// outlierctl from its words to its exit code: parses, fills the session, runs the verb.

#include <string>
#include <vector>

#include "daemon/ctl/command.h"
#include "daemon/ctl/session.h"

namespace outlierd::ctl {

// words: without the program's name. The session's streams, terminal, clock and $OUTLIERD_URL are
// given; the rest of it is filled from the words.
int run_program(std::vector<std::string> words, const Commands& commands, Session session);

// From the surroundings: standard streams, what they are connected to, NO_COLOR, $OUTLIERD_URL.
Session session_of_process();

Commands all_commands();  // verbs.cpp, part of the executable

}  // namespace outlierd::ctl
