#pragma once
// A YAML text as a tree of nodes that know their place; the only part that knows the YAML library.
//
// Total: any bytes give a tree or one problem. Aliases share the node they name; one that lies
// inside what it names, or a text whose aliases unfold to too much, is a problem.

#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <utility>
#include <vector>

#include "config/problem.h"

namespace outlierd::config {

struct Node;
using NodePointer = std::shared_ptr<const Node>;

struct Node {
  enum class Kind { kEmpty, kText, kList, kMap };
  Kind kind = Kind::kEmpty;
  int line = 1, column = 1;
  std::string text;                                          // kText
  std::vector<NodePointer> items;                            // kList
  std::vector<std::pair<NodePointer, NodePointer>> entries;  // kMap, in the order of the file
  std::size_t size = 1;                                      // nodes below and this, unfolded
};

tl::expected<NodePointer, Problem> parse_document(std::string_view yaml);

}  // namespace outlierd::config
