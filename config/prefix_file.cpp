#include "config/prefix_file.h"

#include <cerrno>
#include <fstream>
#include <iterator>
#include <system_error>
#include <unordered_set>

namespace outlierd::config {
namespace {

constexpr std::size_t kMostProblems = 100;

std::string_view trimmed(std::string_view text) {
  const std::size_t begin = text.find_first_not_of(" \t\r");
  if (begin == text.npos) return {};
  return text.substr(begin, text.find_last_not_of(" \t\r") - begin + 1);
}

}  // namespace

tl::expected<std::vector<PrefixNode>, std::vector<std::string>> parse_prefix_file(
    std::string_view text, const std::vector<std::string>& nodes) {
  const std::unordered_set<std::string_view> known(nodes.begin(), nodes.end());
  std::vector<PrefixNode> out;
  std::vector<std::string> problems;
  std::size_t number = 0;
  while (!text.empty() && problems.size() < kMostProblems) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    ++number;
    line = trimmed(line.substr(0, line.find('#')));
    if (line.empty() || (number == 1 && line == "prefix,node")) continue;
    const auto problem = [&](const std::string& what) {
      problems.push_back(std::to_string(number) + ": " + what);
    };
    const std::size_t comma = line.find(',');
    if (comma == line.npos) {
      problem("must be prefix,node, such as 192.0.2.0/24,ATLA");
      continue;
    }
    const auto prefix = parse_prefix(trimmed(line.substr(0, comma)));
    const std::string_view node = trimmed(line.substr(comma + 1));
    if (!prefix) {
      problem(prefix.error());
    } else if (!known.contains(node)) {
      problem("no node of the network is called that");
    } else {
      out.push_back({*prefix, std::string(node)});
    }
  }
  if (!problems.empty()) return tl::unexpected(std::move(problems));
  return out;
}

tl::expected<std::vector<PrefixNode>, std::vector<std::string>> load_prefix_file(
    const std::string& path, const std::vector<std::string>& nodes) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (!file.is_open() || file.bad())
    return tl::unexpected(std::vector<std::string>{
        path + ": cannot be read: " + std::generic_category().message(errno)});
  auto found = parse_prefix_file(text, nodes);
  if (!found)
    for (std::string& problem : found.error()) problem.insert(0, path + ":");
  return found;
}

}  // namespace outlierd::config
