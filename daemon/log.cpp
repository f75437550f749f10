#include "daemon/log.h"

#include <spdlog/sinks/stdout_sinks.h>
#include <spdlog/spdlog.h>

#include <chrono>
#include <map>
#include <mutex>
#include <nlohmann/json.hpp>
#include <optional>

namespace outlierd::log {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kQuiet = std::chrono::seconds(10);

struct Repeats {
  Clock::time_point last{};
  std::uint64_t withheld = 0;
};

class Log {
 public:
  Log()
      : logger_(std::make_shared<spdlog::logger>(
            "outlierd", std::make_shared<spdlog::sinks::stderr_sink_mt>())) {
    use({});
  }

  void use(const config::Log& settings) {
    const std::lock_guard lock(mutex_);
    json_ = settings.format == config::LogFormat::kJson;
    logger_->set_pattern(json_ ? R"({"time":"%Y-%m-%dT%H:%M:%S.%eZ","level":"%l",%v})"
                               : "%Y-%m-%dT%H:%M:%S.%eZ %l %v",
                         spdlog::pattern_time_type::utc);
    switch (settings.level) {
      case config::LogLevel::kTrace:
        return logger_->set_level(spdlog::level::trace);
      case config::LogLevel::kDebug:
        return logger_->set_level(spdlog::level::debug);
      case config::LogLevel::kInfo:
        return logger_->set_level(spdlog::level::info);
      case config::LogLevel::kWarn:
        return logger_->set_level(spdlog::level::warn);
      case config::LogLevel::kError:
        return logger_->set_level(spdlog::level::err);
    }
  }

  void write(spdlog::level::level_enum level, std::string_view event, Fields fields) {
    const std::lock_guard lock(mutex_);
    if (!logger_->should_log(level)) return;
    const std::optional<std::uint64_t> withheld = count(level, event, fields);
    if (!withheld) return;
    std::string line = json_ ? "\"event\":" + quoted(event) : "event=" + std::string(event);
    for (const Field& field : fields) add(line, field.key, field.value);
    if (*withheld > 0) add(line, "repeated", std::to_string(*withheld));
    logger_->log(level, "{}", line);
    logger_->flush();
  }

 private:
  // How many were withheld since the last one, or nothing when this one is too.
  std::optional<std::uint64_t> count(spdlog::level::level_enum level, std::string_view event,
                                     Fields fields) {
    if (level < spdlog::level::warn) return 0;
    std::string name(event);
    for (const Field& field : fields)  // one receiver's trouble must not hide another's
      if (field.key == "notifier") name += ' ' + field.value;
    Repeats& repeats = repeats_[name];
    const Clock::time_point now = Clock::now();
    if (repeats.last != Clock::time_point{} && now - repeats.last < kQuiet) {
      ++repeats.withheld;
      return std::nullopt;
    }
    repeats.last = now;
    return std::exchange(repeats.withheld, 0);
  }

  static std::string quoted(std::string_view text) {
    return nlohmann::json(text).dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  }

  void add(std::string& line, std::string_view key, const std::string& value) const {
    if (json_) {
      line += ',' + quoted(key) + ':' + quoted(value);
      return;
    }
    const bool plain = !value.empty() && value.find_first_of(" \"=\t\n\r\\") == std::string::npos;
    line += ' ';
    line += key;
    line += '=';
    line += plain ? value : quoted(value);
  }

  std::shared_ptr<spdlog::logger> logger_;
  std::mutex mutex_;
  std::map<std::string, Repeats, std::less<>> repeats_;
  bool json_ = false;
};

Log& the_log() {
  static Log log;
  return log;
}

}  // namespace

void start(const config::Log& settings) { the_log().use(settings); }
void debug(std::string_view event, Fields fields) {
  the_log().write(spdlog::level::debug, event, fields);
}
void info(std::string_view event, Fields fields) {
  the_log().write(spdlog::level::info, event, fields);
}
void warn(std::string_view event, Fields fields) {
  the_log().write(spdlog::level::warn, event, fields);
}
void error(std::string_view event, Fields fields) {
  the_log().write(spdlog::level::err, event, fields);
}

}  // namespace outlierd::log
