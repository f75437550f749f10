#pragma once
// What joins the notifiers to the rest: settings from the configuration and its files, events as
// notices, troubles to the log.

#include <chrono>
#include <string>
#include <tl/expected.hpp>
#include <vector>

#include "config/schema.h"
#include "daemon/api/history.h"
#include "daemon/notify/notifier.h"

namespace outlierd {

// Reads the files of tokens and keys; says which could not be.
tl::expected<std::vector<notify::NotifierSettings>, std::string> notifier_settings(
    const config::Config& config, std::chrono::seconds resend);

// watched: its network is one that is configured; nobody closes the events of others.
notify::EventNotice notice_of(const api::EventRecord& event, bool silenced, bool watched);

notify::NotifierPorts logging_ports();

}  // namespace outlierd
