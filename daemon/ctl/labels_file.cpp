#include "daemon/ctl/labels_file.h"

#include <nlohmann/json.hpp>

#include "daemon/ctl/text_file.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr std::size_t kLargestLabels = 64 << 20;

LabelsFile labels_of(const nlohmann::json& document, const std::string& path) {
  LabelsFile labels;
  labels.source = document.at("source").get<std::string>();
  const std::string start = document.at("start").get<std::string>();
  const auto time = parse_time(start);
  if (!time) throw std::runtime_error(path + ": start \"" + start + "\" is not a time");
  labels.start = *time;
  labels.days = document.at("days").get<double>();
  labels.profile = document.value("profile", "subtle");
  labels.bin_seconds = document.at("step_s").get<double>();
  labels.clean_until_bin = document.at("clean_until_bin").get<std::size_t>();
  for (const nlohmann::json& event : document.at("labels"))
    labels.events.push_back(
        {event.at("kind").get<std::string>(), event.at("first_bin").get<std::size_t>(),
         event.at("bins").get<std::size_t>(), event.at("pairs").get<std::vector<std::string>>()});
  return labels;
}

}  // namespace

tl::expected<LabelsFile, std::string> read_labels(const std::string& path) {
  const auto text = read_small_file(path, kLargestLabels);
  if (!text) return tl::unexpected(text.error());
  try {
    return labels_of(nlohmann::json::parse(*text), path);
  } catch (const nlohmann::json::exception& error) {
    return tl::unexpected(path + ": " + error.what());
  } catch (const std::runtime_error& error) {
    return tl::unexpected(std::string(error.what()));
  }
}

}  // namespace outlierd::ctl
