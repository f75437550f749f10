#include "daemon/ctl/command_line.h"

#include <CLI/CLI.hpp>

namespace outlierd::ctl {
namespace {

std::vector<std::string> choices_in(const std::string& value) {
  if (value.find('|') == std::string::npos) return {};
  return CLI::detail::split(value, '|');
}

OptionText text_of(const CLI::Option& option) {
  OptionText text;
  text.by_position = option.get_positional();
  for (const std::string& name : option.get_snames()) text.names.push_back("-" + name);
  for (const std::string& name : option.get_lnames()) text.names.push_back("--" + name);
  if (text.by_position) text.names.push_back(option.get_name(true));
  const bool is_flag = option.get_items_expected_max() == 0;
  text.value = is_flag ? "" : option.get_type_name();
  text.help = option.get_description();
  text.fallback = is_flag ? "" : option.get_default_str();
  text.choices = choices_in(text.value);
  text.required = option.get_required();
  return text;
}

}  // namespace

VerbText command_line_of(const CLI::App& application) {
  VerbText text{
      application.get_name(), application.get_description(), application.get_footer(), {}, {}};
  for (const CLI::Option* option : application.get_options([](const CLI::Option*) { return true; }))
    text.options.push_back(text_of(*option));
  for (const CLI::App* verb : application.get_subcommands([](const CLI::App*) { return true; }))
    text.verbs.push_back(command_line_of(*verb));
  return text;
}

}  // namespace outlierd::ctl
