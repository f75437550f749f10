#include "daemon/notify/syslog_line.h"

namespace outlierd::notify {
namespace {

constexpr int kDaemonFacility = 3, kCritical = 2, kWarning = 4, kNotice = 5;

int severity_number(const Alert& alert) {
  if (!alert.firing()) return kNotice;
  const auto severity = alert.labels.find("severity");
  if (severity == alert.labels.end()) return kWarning;
  return severity->second == "critical" ? kCritical
         : severity->second == "none"   ? kNotice
                                        : kWarning;
}

const char* message_id(Telling telling) {
  return telling == Telling::kFiring     ? "event-opened"
         : telling == Telling::kResolved ? "event-closed"
                                         : "event-updated";
}

// The value of a parameter: UTF-8 with three characters escaped.
std::string escaped(const std::string& value) {
  std::string text;
  for (const char c : value) {
    if (c == '"' || c == '\\' || c == ']') text += '\\';
    text += c;
  }
  return text;
}

// Printable ASCII without spaces; "-" stands for nothing.
std::string header_word(const std::string& word, std::size_t most) {
  std::string text;
  for (const char c : word)
    if (c > 32 && c < 127 && text.size() < most) text += c;
  return text.empty() ? "-" : text;
}

std::string one_line(std::string text) {
  for (char& c : text)
    if (static_cast<unsigned char>(c) < 32 || c == 127) c = ' ';
  return text;
}

}  // namespace

std::string syslog_line(const Due& due, EpochSeconds now, const SyslogSource& source) {
  const Alert& alert = due.alert;
  std::string line = "<" + std::to_string(kDaemonFacility * 8 + severity_number(alert)) + ">1 " +
                     time_text(now) + ' ' + header_word(source.host, 255) + " outlierd " +
                     header_word(source.process_id, 128) + ' ' + message_id(due.telling) +
                     " [outlierd@32473";  // the number that RFC 5612 leaves to examples
  const auto add = [&](const std::string& name, const std::string& value) {
    line += ' ' + name + "=\"" + escaped(one_line(value)) + '"';
  };
  add("state", alert.firing() ? "firing" : "resolved");
  for (const auto& [name, value] : alert.labels) add(name, value);
  add("starts", time_text(alert.starts));
  if (alert.ends) add("ends", time_text(*alert.ends));
  if (const auto by = alert.annotations.find("acknowledged"); by != alert.annotations.end())
    add("acknowledged", by->second);
  const auto summary = alert.annotations.find("summary");
  line += "] \xEF\xBB\xBF";
  line += alert.firing() ? "" : "over: ";
  return line + (summary == alert.annotations.end() ? "" : one_line(summary->second));
}

std::string framed(const std::string& line) { return std::to_string(line.size()) + ' ' + line; }

}  // namespace outlierd::notify
