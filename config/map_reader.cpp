#include "config/map_reader.h"

#include <algorithm>
#include <map>
#include <utility>

namespace outlierd::config {
namespace {

constexpr std::size_t kLongestShown = 64;

// Letters to add, drop, change or swap with their neighbour to get from one word to the other.
std::size_t edit_distance(std::string_view from, std::string_view to) {
  std::vector<std::vector<std::size_t>> steps(from.size() + 1,
                                              std::vector<std::size_t>(to.size() + 1));
  for (std::size_t i = 0; i <= from.size(); ++i) {
    for (std::size_t j = 0; j <= to.size(); ++j) {
      if (i == 0 || j == 0) {
        steps[i][j] = i + j;
        continue;
      }
      const std::size_t change = from[i - 1] == to[j - 1] ? 0 : 1;
      steps[i][j] =
          std::min({steps[i - 1][j] + 1, steps[i][j - 1] + 1, steps[i - 1][j - 1] + change});
      if (i > 1 && j > 1 && from[i - 1] == to[j - 2] && from[i - 2] == to[j - 1])
        steps[i][j] = std::min(steps[i][j], steps[i - 2][j - 2] + 1);
    }
  }
  return steps[from.size()][to.size()];
}

std::string joined(std::vector<std::string> words) {
  std::sort(words.begin(), words.end());
  std::string all;
  for (const std::string& word : words) all += (all.empty() ? "" : ", ") + word;
  return all;
}

template <class T, class Text>
Parsed<T> in_range(Parsed<T> value, T low, T high, const char* what, Text text) {
  if (value && low <= *value && *value <= high) return value;
  return tl::unexpected(std::string("must be ") + what + " from " + text(low) + " to " +
                        text(high));
}

}  // namespace

void report(Problems& problems, const Node& node, const std::string& path,
            const std::string& message) {
  problems.push_back({node.line, node.column, path.empty() ? message : path + ": " + message});
}

std::string shown(std::string_view text) {
  std::string out;
  for (char c : text.substr(0, kLongestShown)) {
    const auto byte = static_cast<unsigned char>(c);
    out += byte < 0x20 || byte == 0x7f ? '?' : c;
  }
  if (text.size() <= kLongestShown) return out;
  // Not to end inside a character.
  while (!out.empty() && (static_cast<unsigned char>(out.back()) & 0xc0) == 0x80) out.pop_back();
  if (!out.empty() && static_cast<unsigned char>(out.back()) >= 0x80) out.pop_back();
  return out + "...";
}

std::optional<std::string> nearest(std::string_view text, const std::vector<std::string>& known) {
  if (text.size() > kLongestShown) return std::nullopt;
  std::optional<std::string> best;
  std::size_t least = std::max<std::size_t>(1, text.size() / 3) + 1;
  for (const std::string& word : known) {
    const std::size_t distance = edit_distance(text, word);
    if (distance >= least) continue;
    least = distance;
    best = word;
  }
  return best;
}

std::optional<std::string> text_in(const Node& node, const std::string& path, Problems& problems) {
  if (node.kind == Node::Kind::kText && !node.text.empty()) return node.text;
  const char* is = node.kind == Node::Kind::kMap    ? "must be a single value, not a mapping"
                   : node.kind == Node::Kind::kList ? "must be a single value, not a list"
                                                    : "is empty";
  report(problems, node, path, is);
  return std::nullopt;
}

MapReader::MapReader(const Node& node, std::string path, Problems& problems)
    : map_(node), path_(std::move(path)), problems_(problems) {
  if (node.kind == Node::Kind::kText || node.kind == Node::Kind::kList) {
    const char* is = node.kind == Node::Kind::kText ? "a single value" : "a list";
    report(problems_, node, path_, std::string("must be a mapping (key: value), not ") + is);
  }
  std::map<std::string_view, const Node*> seen;
  for (const auto& [key, value] : map_.entries) {
    if (key->kind != Node::Kind::kText) {
      report(problems_, *key, path_, "a key must be a single word");
      continue;
    }
    const auto [first, added] = seen.emplace(key->text, key.get());
    if (!added)
      complain(*key, shown(key->text),
               "stands twice, first in line " + std::to_string(first->second->line) + ": keep one");
  }
}

const Node* MapReader::find(const std::string& key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.push_back(key);
  for (const auto& [name, value] : map_.entries)
    if (name->kind == Node::Kind::kText && name->text == key)
      return value->kind == Node::Kind::kEmpty ? nullptr : value.get();
  return nullptr;
}

std::string MapReader::path_of(const std::string& key) const {
  return path_.empty() ? key : path_ + "." + key;
}

void MapReader::complain(const Node& node, const std::string& key,
                         const std::string& message) const {
  report(problems_, node, path_of(key), message);
}

void MapReader::complain_missing(const std::string& key, const std::string& message) const {
  for (const auto& [name, value] : map_.entries)
    if (name->kind == Node::Kind::kText && name->text == key) return complain(*name, key, message);
  complain(map_, key, message);
}

void MapReader::text(const std::string& key, std::string& field) {
  const auto any = [](std::string_view text) -> Parsed<std::string> {
    for (char c : text)
      if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
        return tl::unexpected(std::string("must not hold control characters"));
    return std::string(text);
  };
  if (auto text = value(key, any)) field = std::move(*text);
}

void MapReader::boolean(const std::string& key, bool& field) {
  if (const auto parsed = value(key, parse_bool)) field = *parsed;
}

void MapReader::whole(const std::string& key, int& field, int low, int high) {
  const auto parsed = value(key, [&](std::string_view text) {
    return in_range<std::int64_t>(parse_whole(text), low, high, "a whole number",
                                  [](std::int64_t x) { return std::to_string(x); });
  });
  if (parsed) field = int(*parsed);
}

void MapReader::real(const std::string& key, double& field, double low, double high) {
  const auto parsed = value(key, [&](std::string_view text) {
    return in_range<double>(parse_real(text), low, high, "a number",
                            [](double x) { return text_of(x); });
  });
  if (parsed) field = *parsed;
}

void MapReader::size(const std::string& key, std::uint64_t& field, std::uint64_t low,
                     std::uint64_t high) {
  const auto parsed = value(key, [&](std::string_view text) {
    auto bytes = parse_size(text);
    if (bytes && (*bytes < low || *bytes > high))
      bytes = tl::unexpected("must be from " + size_text(low) + " to " + size_text(high));
    return bytes;
  });
  if (parsed) field = *parsed;
}

const Node* MapReader::list_in(const std::string& key) {
  const Node* node = find(key);
  if (!node || node->kind == Node::Kind::kList) return node;
  const char* is = node->kind == Node::Kind::kMap
                       ? "must be a list, not a mapping: begin each entry with \"- \""
                       : "must be a list, such as [first, second]";
  complain(*node, key, is);
  return nullptr;
}

void MapReader::finish() const {
  for (const auto& [key, value] : map_.entries) {
    if (key->kind == Node::Kind::kText && !knows(key->text))
      complain(*key, shown(key->text), "not a known setting " + hint(key->text));
  }
}

bool MapReader::knows(std::string_view key) const {
  return std::find(known_.begin(), known_.end(), key) != known_.end();
}

std::string MapReader::hint(std::string_view key) const {
  if (key == "<<") return "(merging is not supported: write the settings out)";
  const std::string_view word = key.substr(0, key.find_first_of(" :="));
  if (word != key && knows(word))
    return "(a colon and a space must follow " + std::string(word) + ")";
  if (const auto meant = nearest(key, known_)) return "(did you mean " + *meant + "?)";
  return "(known here: " + joined(known_) + ")";
}

}  // namespace outlierd::config
