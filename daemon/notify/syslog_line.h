#pragma once
// An alert as a message of RFC 5424. Pure functions.

#include "daemon/notify/alert_book.h"

namespace outlierd::notify {

struct SyslogSource {
  std::string host, process_id;
};

// <PRI>1 TIME HOST outlierd PID event-opened [outlierd@32473 event="..." ...] BOM summary; facility
// daemon; severity critical, warning, or notice once it is over.
std::string syslog_line(const Due& due, EpochSeconds now, const SyslogSource& source);
// As a stream wants it (RFC 6587, octet counting).
std::string framed(const std::string& line);

}  // namespace outlierd::notify
