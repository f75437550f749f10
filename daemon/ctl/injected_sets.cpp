#include <algorithm>
#include <filesystem>

#include "daemon/ctl/evaluation.h"

namespace outlierd::ctl {
namespace {

namespace fs = std::filesystem;
constexpr std::string_view kEnding = ".labels.json";

std::optional<std::string> find_source(const std::string& said, const fs::path& folder,
                                       const std::string& traffic) {
  const fs::path name = fs::path(said).filename();
  std::vector<fs::path> places = {said, folder / said, folder / ".." / said, folder / name,
                                  folder / ".." / "traffic" / name};
  if (!traffic.empty()) places.insert(places.begin(), fs::path(traffic) / name);
  std::error_code error;
  for (const fs::path& place : places)
    if (fs::is_regular_file(place, error)) return place.lexically_normal().string();
  return std::nullopt;
}

}  // namespace

tl::expected<std::vector<InjectedSet>, std::string> find_sets(const std::string& folder,
                                                              const std::string& traffic) {
  std::error_code error;
  fs::directory_iterator entries(folder, error);
  if (error) return tl::unexpected(folder + ": cannot be read: " + error.message());
  std::vector<InjectedSet> sets;
  for (const fs::directory_entry& entry : entries) {
    const std::string file = entry.path().filename().string();
    if (!file.ends_with(kEnding)) continue;
    InjectedSet set;
    set.name = file.substr(0, file.size() - kEnding.size());
    for (const char* ending : {".csv.gz", ".csv"})
      if (set.file.empty() && fs::exists(fs::path(folder) / (set.name + ending), error))
        set.file = (fs::path(folder) / (set.name + ending)).string();
    if (set.file.empty())
      return tl::unexpected(entry.path().string() + ": there is no " + set.name + ".csv.gz");
    auto labels = read_labels(entry.path().string());
    if (!labels) return tl::unexpected(labels.error());
    set.labels = std::move(*labels);
    const auto source = find_source(set.labels.source, folder, traffic);
    if (!source)
      return tl::unexpected(entry.path().string() + ": its clean traffic " + set.labels.source +
                            " is not there; --traffic says where such files are");
    set.source = *source;
    sets.push_back(std::move(set));
  }
  if (sets.empty()) return tl::unexpected(folder + ": holds no *.labels.json");
  std::sort(sets.begin(), sets.end(),
            [](const InjectedSet& a, const InjectedSet& b) { return a.name < b.name; });
  return sets;
}

}  // namespace outlierd::ctl
