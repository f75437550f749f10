#include "config/document.h"

#include <yaml-cpp/eventhandler.h>
#include <yaml-cpp/exceptions.h>
#include <yaml-cpp/parser.h>

#include <algorithm>
#include <exception>
#include <map>
#include <optional>
#include <sstream>

namespace outlierd::config {
namespace {

constexpr std::size_t kMostYamlNodes = 1'000'000;

// A comment put behind the text. The library takes the end of the file for the end of a quoted
// text; one that was not closed has swallowed the comment. No file holds its control character.
constexpr std::string_view kLastLine = "\n#\x01end\n", kSwallowed = "\x01end";

// Length of the UTF-8 sequence at the front of a text that is not empty; 0 when there is none.
std::size_t utf8_length(std::string_view text) {
  const auto byte = [&](std::size_t at) {
    return at < text.size() ? static_cast<unsigned char>(text[at]) : 0u;
  };
  const auto follows = [&](std::size_t at) { return (byte(at) & 0xc0u) == 0x80u; };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first >= 0xc2 && first <= 0xdf) return follows(1) ? 2 : 0;
  if (first >= 0xe0 && first <= 0xef) {
    const bool shortest = first != 0xe0 || byte(1) >= 0xa0;
    const bool no_surrogate = first != 0xed || byte(1) < 0xa0;
    return shortest && no_surrogate && follows(1) && follows(2) ? 3 : 0;
  }
  if (first >= 0xf0 && first <= 0xf4) {
    const bool shortest = first != 0xf0 || byte(1) >= 0x90;
    const bool in_range = first != 0xf4 || byte(1) < 0x90;
    return shortest && in_range && follows(1) && follows(2) && follows(3) ? 4 : 0;
  }
  return 0;
}

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

class TreeBuilder final : public YAML::EventHandler {
 public:
  NodePointer root() const { return root_; }
  // Where the innermost list or mapping began that has not ended.
  std::optional<YAML::Mark> unfinished() const {
    if (open_.empty()) return std::nullopt;
    return open_.back().mark;
  }

  void OnDocumentStart(const YAML::Mark& mark) override {
    if (std::exchange(begun_, true))
      throw YAML::ParserException(mark, "the file goes on after the end of its document");
  }
  void OnDocumentEnd() override {}
  void OnNull(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    add(make(Node::Kind::kEmpty, mark, anchor), mark);
  }
  void OnAlias(const YAML::Mark& mark, YAML::anchor_t anchor) override {
    const auto found = anchors_.find(anchor);
    if (found == anchors_.end()) throw YAML::ParserException(mark, "this alias names nothing");
    for (const Open& open : open_)
      if (open.node == found->second)
        throw YAML::ParserException(mark, "this alias lies inside what it names");
    add(found->second, mark);
  }
  void OnScalar(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                const std::string& value) override {
    if (value.find(kSwallowed) != value.npos)
      throw YAML::ParserException(mark, YAML::ErrorMsg::EOF_IN_SCALAR);
    if (!is_utf8(value))  // the library turns \N and \_ into half a character
      throw YAML::ParserException(mark, "an escape (\\) in this text gives no character");
    const auto node = make(Node::Kind::kText, mark, anchor);
    node->text = value;
    add(node, mark);
  }
  void OnSequenceStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                       YAML::EmitterStyle::value) override {
    open_.push_back({make(Node::Kind::kList, mark, anchor), nullptr, mark});
  }
  void OnSequenceEnd() override { close(); }
  void OnMapStart(const YAML::Mark& mark, const std::string&, YAML::anchor_t anchor,
                  YAML::EmitterStyle::value) override {
    open_.push_back({make(Node::Kind::kMap, mark, anchor), nullptr, mark});
  }
  void OnMapEnd() override { close(); }

 private:
  struct Open {
    std::shared_ptr<Node> node;
    NodePointer key;  // of a map: waits for its value
    YAML::Mark mark;
  };

  std::shared_ptr<Node> make(Node::Kind kind, const YAML::Mark& mark, YAML::anchor_t anchor) {
    auto node = std::make_shared<Node>();
    node->kind = kind;
    node->line = mark.line + 1;
    node->column = mark.column + 1;
    if (anchor != YAML::NullAnchor) anchors_[anchor] = node;
    return node;
  }

  void add(NodePointer node, const YAML::Mark& mark) {
    if (open_.empty()) {
      root_ = std::move(node);
      return;
    }
    Open& open = open_.back();
    open.node->size += node->size;
    if (open.node->size > kMostYamlNodes)
      throw YAML::ParserException(mark, "the aliases unfold to more than a million values");
    if (open.node->kind == Node::Kind::kList) {
      open.node->items.push_back(std::move(node));
    } else if (!open.key) {
      open.key = std::move(node);
    } else {
      open.node->entries.emplace_back(std::exchange(open.key, nullptr), std::move(node));
    }
  }

  void close() {
    const Open closed = std::move(open_.back());
    open_.pop_back();
    add(closed.node, closed.mark);
  }

  bool begun_ = false;
  NodePointer root_;
  std::vector<Open> open_;
  std::map<YAML::anchor_t, std::shared_ptr<Node>> anchors_;
};

// The library takes some control characters for the end of the file and guesses encodings; what
// could mislead it is found here.
std::optional<Problem> find_bad_character(std::string_view yaml) {
  int line = 1, column = 1;
  while (!yaml.empty()) {
    const std::size_t length = utf8_length(yaml);
    if (length == 0) return Problem{line, column, "this is not UTF-8 text"};
    const auto first = static_cast<unsigned char>(yaml.front());
    if (first < 0x20 && first != '\t' && first != '\n' && first != '\r')
      return Problem{line, column, "a control character does not belong into this file"};
    ++column;
    if (first == '\n') {
      ++line;
      column = 1;
    }
    yaml.remove_prefix(length);
  }
  return std::nullopt;
}

// The library's words where they help, ours where people would not know what to do.
std::string reason_of(const std::string& message) {
  using namespace YAML::ErrorMsg;
  const char* const astray =
      "this does not go on with what stands above: check indentation and quotes, and that \": \" "
      "follows a key";
  const std::pair<const char*, const char*> ours[] = {
      {END_OF_MAP, astray},
      {END_OF_SEQ, astray},
      {END_OF_MAP_FLOW, "this { misses its }, or something in it needs quotes"},
      {END_OF_SEQ_FLOW, "this [ misses its ], or something in it needs quotes"},
      {EOF_IN_SCALAR, "this quoted text misses its closing quote"},
      {MAP_VALUE,
       "a colon stands where no value can begin: quote a text that holds \": \", or give the line "
       "above its colon"},
      {UNKNOWN_TOKEN, "no value can begin with this character: quote the text"},
      {FLOW_END, "this bracket has nothing to close"},
      {BLOCK_ENTRY, "a list entry (- ) stands where no list can begin: check its indentation"},
      {UNKNOWN_ANCHOR, "this alias names nothing: there is no such anchor before it"},
  };
  for (const auto& [theirs, words] : ours)
    if (message.starts_with(theirs)) return words;
  return message;
}

// A tab before the first word of a line; the library complains of what follows from it.
std::optional<int> tab_column(std::string_view yaml, int line) {
  for (; line > 0 && !yaml.empty(); --line)
    yaml.remove_prefix(std::min(yaml.find('\n'), yaml.size() - 1) + 1);
  const std::size_t tab = yaml.find_first_not_of(' ');
  if (tab == yaml.npos || yaml[tab] != '\t') return std::nullopt;
  return int(tab) + 1;
}

Problem problem_of(const YAML::Exception& error, std::string_view yaml, const TreeBuilder& tree) {
  YAML::Mark mark = error.mark.is_null() ? YAML::Mark() : error.mark;
  if (const auto column = tab_column(yaml, mark.line))
    return {mark.line + 1, *column, "not valid YAML: a tab indents this line: use spaces"};
  using namespace YAML::ErrorMsg;
  if (error.msg == END_OF_MAP_FLOW || error.msg == END_OF_SEQ_FLOW)
    mark = tree.unfinished().value_or(mark);
  return {mark.line + 1, mark.column + 1, "not valid YAML: " + reason_of(error.msg)};
}

}  // namespace

tl::expected<NodePointer, Problem> parse_document(std::string_view yaml) {
  if (auto problem = find_bad_character(yaml)) return tl::unexpected(*problem);
  if (yaml.starts_with("\xEF\xBB\xBF")) yaml.remove_prefix(3);
  TreeBuilder tree;
  try {
    std::istringstream in(std::string(yaml).append(kLastLine));
    YAML::Parser parser(in);
    while (parser.HandleNextDocument(tree)) {
    }
    return tree.root() ? tree.root() : std::make_shared<const Node>();
  } catch (const YAML::Exception& error) {
    return tl::unexpected(problem_of(error, yaml, tree));
  } catch (const std::exception& error) {
    return tl::unexpected(Problem{1, 1, std::string("the text cannot be read: ") + error.what()});
  }
}

}  // namespace outlierd::config
