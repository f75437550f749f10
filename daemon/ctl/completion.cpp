// Completion scripts for bash and zsh, from the description of the command line.

#include <fmt/format.h>

#include "daemon/ctl/command_line.h"

namespace outlierd::ctl {
namespace {

bool takes_file(const OptionText& option) {
  return option.value == "FILE" || option.value == "PATH";
}

std::string joined(const std::vector<std::string>& words, const char* mark = " ") {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : mark) + word;
  return text;
}

// Calls visit(path, verb) for every verb, path like "silence add"; the root's is empty.
template <class Visit>
void walk(const VerbText& verb, const std::string& path, const Visit& visit) {
  visit(path, verb);
  for (const VerbText& each : verb.verbs)
    walk(each, path.empty() ? each.name : path + " " + each.name, visit);
}

std::string words_of(const VerbText& verb) {
  std::vector<std::string> words;
  for (const VerbText& each : verb.verbs) words.push_back(each.name);
  for (const OptionText& option : verb.options) {
    const auto& offered = option.by_position ? option.choices : option.names;
    words.insert(words.end(), offered.begin(), offered.end());
  }
  return joined(words);
}

// What may follow an option: a line of a case, or nothing.
std::string bash_values(const std::string& path, const OptionText& option) {
  if (option.by_position || option.value.empty()) return {};
  std::vector<std::string> patterns;
  for (const std::string& name : option.names)
    patterns.push_back(fmt::format("\"{}|{}\"", path, name));
  std::string offer = ":";
  if (!option.choices.empty())
    offer = fmt::format("COMPREPLY=($(compgen -W \"{}\" -- \"$current\"))", joined(option.choices));
  else if (takes_file(option))
    offer = "COMPREPLY=($(compgen -f -- \"$current\"))";
  return fmt::format("    {})\n      {}\n      return ;;\n", joined(patterns, "|"), offer);
}

std::string zsh_quoted(std::string text, bool in_brackets) {
  std::string out;
  for (const char letter : text) {
    if (letter == '\'')
      out += "'\\''";
    else if (in_brackets && (letter == '[' || letter == ']' || letter == ':' || letter == '\\'))
      out += std::string("\\") + letter;
    else
      out += letter == '\n' ? ' ' : letter;
  }
  return out;
}

std::string zsh_action(const OptionText& option) {
  if (!option.choices.empty()) return fmt::format("({})", joined(option.choices));
  return takes_file(option) ? "_files" : "";
}

std::string zsh_argument(const OptionText& option) {
  const std::string value = zsh_quoted(option.value, true);
  if (option.by_position) return fmt::format(" \\\n    ':{}:{}'", value, zsh_action(option));
  std::string text;
  for (const std::string& name : option.names)
    text += fmt::format(" \\\n    '{}[{}]{}'", name, zsh_quoted(option.help, true),
                        option.value.empty() ? "" : ":" + value + ":" + zsh_action(option));
  return text;
}

std::string zsh_function(const std::string& path, const VerbText& verb, const VerbText& root) {
  std::string name = "_outlierctl";
  for (const char letter : path.empty() ? path : " " + path) name += letter == ' ' ? '_' : letter;
  std::string arguments;
  for (const OptionText& option : verb.options) arguments += zsh_argument(option);
  if (!path.empty())
    for (const OptionText& option : root.options)
      if (option.names.front() != "-h" && option.names.front() != "--version")
        arguments += zsh_argument(option);
  if (verb.verbs.empty()) return fmt::format("{}() {{\n  _arguments{}\n}}\n\n", name, arguments);
  std::string offered, calls;
  for (const VerbText& each : verb.verbs) {
    offered += fmt::format("\n        '{}:{}'", each.name, zsh_quoted(each.summary, false));
    calls += fmt::format("\n        {}) {}_{} ;;", each.name, name, each.name);
  }
  return fmt::format(
      "{}() {{\n  local curcontext=\"$curcontext\" state line\n  local -a verbs\n"
      "  _arguments -C{} \\\n    '1:verb:->verb' \\\n    '*::argument:->argument'\n"
      "  case $state in\n    verb)\n      verbs=({}\n      )\n      _describe verb verbs ;;\n"
      "    argument)\n      case $line[1] in{}\n      esac ;;\n  esac\n}}\n\n",
      name, arguments, offered, calls);
}

}  // namespace

std::string bash_completion(const VerbText& root) {
  std::string paths, values, words, globals;
  for (const OptionText& option : root.options) globals += " " + joined(option.names);
  walk(root, "", [&](const std::string& path, const VerbText& verb) {
    if (!path.empty()) paths += fmt::format("{}\"{}\"", paths.empty() ? "" : "|", path);
    for (const OptionText& option : verb.options) values += bash_values(path, option);
    if (!path.empty())
      for (const OptionText& option : root.options) values += bash_values(path, option);
    words += fmt::format("    \"{}\") words=\"{}{}\" ;;\n", path, words_of(verb),
                         path.empty() ? "" : globals);
  });
  return fmt::format(
      "# bash completion of outlierctl; made by: outlierctl completion bash\n"
      "_outlierctl() {{\n"
      "  local current=\"${{COMP_WORDS[COMP_CWORD]}}\" previous=\"${{COMP_WORDS[COMP_CWORD-1]}}\"\n"
      "  local path=\"\" word words=\"\"\n"
      "  for word in \"${{COMP_WORDS[@]:1:COMP_CWORD-1}}\"; do\n"
      "    case \"${{path:+$path }}$word\" in\n"
      "      {}) path=\"${{path:+$path }}$word\" ;;\n"
      "    esac\n"
      "  done\n"
      "  case \"$path|$previous\" in\n{}  esac\n"
      "  case \"$path\" in\n{}  esac\n"
      "  COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
      "  [ ${{#COMPREPLY[@]}} -gt 0 ] || COMPREPLY=($(compgen -f -- \"$current\"))\n"
      "}}\n"
      "complete -o filenames -F _outlierctl outlierctl\n",
      paths, values, words);
}

std::string zsh_completion(const VerbText& root) {
  std::string text = "#compdef outlierctl\n# Made by: outlierctl completion zsh\n\n";
  walk(root, "", [&](const std::string& path, const VerbText& verb) {
    text += zsh_function(path, verb, root);
  });
  return text + "_outlierctl \"$@\"\n";
}

}  // namespace outlierd::ctl
