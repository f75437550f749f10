#pragma once
// What systemd is told (sd_notify): ready, still alive, stopping. Without systemd nothing happens.

#include <chrono>
#include <optional>

namespace outlierd::service_manager {

void ready();
void reloading();
void stopping();
void alive();
// How often it wants to hear that we are; nothing when it does not.
std::optional<std::chrono::microseconds> watchdog_interval();

}  // namespace outlierd::service_manager
