#include "daemon/service_manager.h"

#include <systemd/sd-daemon.h>

namespace outlierd::service_manager {

void ready() { ::sd_notify(0, "READY=1"); }
void reloading() { ::sd_notify(0, "RELOADING=1"); }
void stopping() { ::sd_notify(0, "STOPPING=1"); }
void alive() { ::sd_notify(0, "WATCHDOG=1"); }

std::optional<std::chrono::microseconds> watchdog_interval() {
  std::uint64_t microseconds = 0;
  if (::sd_watchdog_enabled(0, &microseconds) <= 0) return std::nullopt;
  return std::chrono::microseconds(microseconds) / 2;
}

}  // namespace outlierd::service_manager
