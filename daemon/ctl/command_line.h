#pragma once
// The command line as plain data, read off the parser's own definitions: what completion scripts
// and the manual page are made from.

#include <string>
#include <vector>

namespace CLI {
class App;
}

namespace outlierd::ctl {

struct OptionText {
  std::vector<std::string> names;  // "-o", "--format"; of an argument by position its word
  std::string value;               // "FILE"; empty: a flag
  std::string help, fallback;
  std::vector<std::string> choices;
  bool by_position = false, required = false;
};

struct VerbText {
  std::string name, summary, more;  // more: the rest of the help, examples included
  std::vector<OptionText> options;
  std::vector<VerbText> verbs;
};

VerbText command_line_of(const CLI::App& application);

std::string bash_completion(const VerbText& root);
std::string zsh_completion(const VerbText& root);
std::string manual_page(const VerbText& root, const std::string& version);  // roff, section 1

}  // namespace outlierd::ctl
