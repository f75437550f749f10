#include "daemon/ctl/kept_results.h"

#include <filesystem>
#include <nlohmann/json.hpp>

#include "daemon/ctl/text_file.h"

namespace outlierd::ctl {
namespace {

namespace fs = std::filesystem;
using SortedJson = nlohmann::json;
constexpr std::size_t kLargestResult = 64 << 20;

SortedJson json_of(const JudgedSet& result) {
  SortedJson events = SortedJson::array();
  for (const JudgedEvent& event : result.events)
    events.push_back({{"kind", event.kind},
                      {"auc", event.auc},
                      {"delay", event.delay},
                      {"shape", event.shape ? SortedJson(*event.shape) : SortedJson()}});
  return {{"events", std::move(events)},
          {"finds_events", result.finds_events},
          {"microseconds", result.microseconds},
          {"days", result.days}};
}

JudgedSet set_of(const SortedJson& json) {
  JudgedSet result;
  for (const SortedJson& event : json.at("events")) {
    JudgedEvent judged{event.at("kind").get<std::string>(), event.at("auc").get<double>(),
                       event.at("delay").get<std::vector<int>>(), std::nullopt};
    if (judged.delay.size() != kBudgets.size()) throw std::runtime_error("other budgets");
    if (event.at("shape").is_string()) judged.shape = event.at("shape").get<std::string>();
    result.events.push_back(std::move(judged));
  }
  result.finds_events = json.at("finds_events").get<bool>();
  result.microseconds = json.at("microseconds").get<double>();
  result.days = json.at("days").get<double>();
  return result;
}

}  // namespace

std::string file_fingerprint(const std::string& path) {
  std::error_code error;
  const auto size = fs::file_size(path, error);
  const auto time = fs::last_write_time(path, error).time_since_epoch().count();
  return fs::path(path).filename().string() + "/" + std::to_string(size) + "/" +
         std::to_string(time);
}

std::string program_fingerprint() { return file_fingerprint("/proc/self/exe"); }

std::string KeptResults::path_of(const std::string& name) const {
  return (fs::path(folder_) / (name + ".json")).string();
}

std::optional<std::string> KeptResults::find_text(const std::string& name,
                                                  const std::string& key) const {
  if (folder_.empty()) return std::nullopt;
  const auto text = read_small_file(path_of(name), kLargestResult);
  if (!text) return std::nullopt;
  const SortedJson json = SortedJson::parse(*text, nullptr, false);
  if (!json.is_object() || !json.contains("result") || json.value("key", "") != key)
    return std::nullopt;
  if (!old_ && json.value("program", "") != program_fingerprint()) return std::nullopt;
  return json["result"].dump();
}

tl::expected<void, std::string> KeptResults::keep_text(const std::string& name,
                                                       const std::string& key,
                                                       const std::string& text) const {
  if (folder_.empty()) return {};
  std::error_code error;
  fs::create_directories(fs::path(path_of(name)).parent_path(), error);
  const SortedJson json = {
      {"key", key}, {"program", program_fingerprint()}, {"result", SortedJson::parse(text)}};
  // Whole or not at all, also when it is stopped here.
  const std::string part = path_of(name) + ".part";
  auto file = OutputFile::create(part);
  if (!file) return tl::unexpected(file.error());
  if (auto written = file->write(json.dump() + "\n"); !written) return written;
  if (auto closed = file->close(); !closed) return closed;
  fs::rename(part, path_of(name), error);
  if (error) return tl::unexpected(path_of(name) + ": cannot be written: " + error.message());
  return {};
}

std::optional<JudgedSet> KeptResults::find(const std::string& name, const std::string& key) const {
  const auto text = find_text(name, key);
  if (!text) return std::nullopt;
  try {
    return set_of(SortedJson::parse(*text));
  } catch (const std::exception&) {
    return std::nullopt;
  }
}

tl::expected<void, std::string> KeptResults::keep(const std::string& name, const std::string& key,
                                                  const JudgedSet& result) const {
  return keep_text(name, key, json_of(result).dump());
}

}  // namespace outlierd::ctl
