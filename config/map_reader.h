#pragma once
// Reads the settings of one mapping: each is asked for by its key, and what nobody asked for, what
// stands twice or is of the wrong kind is reported with its place and path. A setting that is
// absent, empty or wrong leaves its field as it was.
//
// The node and the list of problems outlive the reader.

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "config/document.h"
#include "config/problem.h"
#include "config/values.h"

namespace outlierd::config {

using Problems = std::vector<Problem>;

void report(Problems& problems, const Node& node, const std::string& path,
            const std::string& message);

// What was written, fit to be repeated in a message: short, and without control characters.
std::string shown(std::string_view text);

// The one of `known` that was most likely meant, if any is near.
std::optional<std::string> nearest(std::string_view text, const std::vector<std::string>& known);

// A single value that is not empty; otherwise reports.
std::optional<std::string> text_in(const Node& node, const std::string& path, Problems& problems);

class MapReader {
 public:
  // Reports when the node is neither a mapping nor empty, and keys that stand twice.
  MapReader(const Node& node, std::string path, Problems& problems);

  // The value of a key, which is known from now on; null when it is absent or empty.
  const Node* find(const std::string& key);
  std::string path_of(const std::string& key) const;
  void complain(const Node& node, const std::string& key, const std::string& message) const;
  // About a setting that is missing: at its key where it stands empty, else at the mapping.
  void complain_missing(const std::string& key, const std::string& message) const;

  // The key's text through a parser; nothing when absent or reported.
  template <class Parser>
  auto value(const std::string& key, Parser parse)
      -> std::optional<typename decltype(parse(std::string_view{}))::value_type>;

  void text(const std::string& key, std::string& field);
  void boolean(const std::string& key, bool& field);
  void whole(const std::string& key, int& field, int low, int high);
  void real(const std::string& key, double& field, double low, double high);
  void size(const std::string& key, std::uint64_t& field, std::uint64_t low, std::uint64_t high);
  template <class Duration>
  void duration(const std::string& key, Duration& field, std::chrono::milliseconds low,
                std::chrono::milliseconds high);
  template <class Enum, std::size_t N>
  bool choice(const std::string& key, Enum& field, const Named<Enum> (&names)[N]);

  // Calls visit(item, path of item) for each entry of a list that is not empty. Says whether there
  // is a list.
  template <class Visit>
  bool list(const std::string& key, Visit visit);

  // Reports every key that nobody asked for. To be called last.
  void finish() const;

 private:
  const Node* list_in(const std::string& key);
  bool knows(std::string_view key) const;
  std::string hint(std::string_view unknown_key) const;

  const Node& map_;
  const std::string path_;
  Problems& problems_;
  std::vector<std::string> known_;
};

template <class Parser>
auto MapReader::value(const std::string& key, Parser parse)
    -> std::optional<typename decltype(parse(std::string_view{}))::value_type> {
  const Node* node = find(key);
  if (!node) return std::nullopt;
  const auto text = text_in(*node, path_of(key), problems_);
  if (!text) return std::nullopt;
  auto parsed = parse(std::string_view(*text));
  if (!parsed) {
    complain(*node, key, parsed.error());
    return std::nullopt;
  }
  return std::move(*parsed);
}

template <class Duration>
void MapReader::duration(const std::string& key, Duration& field, std::chrono::milliseconds low,
                         std::chrono::milliseconds high) {
  const auto parsed = value(key, [&](std::string_view text) {
    auto duration = parse_duration(text);
    if (duration && (*duration < low || *duration > high))
      duration = tl::unexpected("must be from " + text_of(low) + " to " + text_of(high));
    else if (duration && std::chrono::duration_cast<Duration>(*duration) != *duration)
      duration = tl::unexpected(std::string("must be whole seconds"));
    return duration;
  });
  if (parsed) field = std::chrono::duration_cast<Duration>(*parsed);
}

template <class Enum, std::size_t N>
bool MapReader::choice(const std::string& key, Enum& field, const Named<Enum> (&names)[N]) {
  const auto chosen = value(key, [&](std::string_view text) -> Parsed<Enum> {
    std::string all;
    for (std::size_t k = 0; k < N; ++k) {
      if (text == names[k].name) return names[k].value;
      all += (k == 0 ? "" : k + 1 == N ? " or " : ", ") + std::string(names[k].name);
    }
    return tl::unexpected("must be " + all);
  });
  if (chosen) field = *chosen;
  return chosen.has_value();
}

template <class Visit>
bool MapReader::list(const std::string& key, Visit visit) {
  const Node* node = list_in(key);
  if (!node) return false;
  for (std::size_t k = 0; k < node->items.size(); ++k) {
    const Node& item = *node->items[k];
    const std::string path = path_of(key) + "[" + std::to_string(k) + "]";
    if (item.kind == Node::Kind::kEmpty)
      report(problems_, *node, path, "is empty");  // the library places it at what follows
    else
      visit(item, path);
  }
  return true;
}

}  // namespace outlierd::config
