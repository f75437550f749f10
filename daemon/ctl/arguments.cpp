#include "daemon/ctl/arguments.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>

#include "daemon/ctl/times.h"

namespace outlierd::ctl {

void Arguments::about(const std::string& summary, const std::string& more) {
  application_.description(summary);
  more_ = more;
  show_footer();
}

void Arguments::example(const std::string& command, const std::string& what_it_does) {
  examples_ += fmt::format("\n  {}\n      {}", command, what_it_does);
  show_footer();
}

void Arguments::show_footer() {
  const std::string examples = examples_.empty() ? "" : "Examples:" + examples_;
  application_.footer(more_ + (more_.empty() || examples.empty() ? "" : "\n\n") + examples);
}

template <class Target>
Arguments& Arguments::add(const std::string& name, const std::string& value, Target& target,
                          const std::string& help) {
  last_ = application_.add_option(name, target, help)->type_name(value);
  if constexpr (!std::is_same_v<Target, std::vector<std::string>>) last_->capture_default_str();
  return *this;
}

Arguments& Arguments::flag(const std::string& name, bool& target, const std::string& help) {
  last_ = application_.add_flag(name, target, help);
  return *this;
}
Arguments& Arguments::option(const std::string& name, const std::string& value, std::string& target,
                             const std::string& help) {
  return add(name, value, target, help);
}
Arguments& Arguments::option(const std::string& name, const std::string& value, int& target,
                             const std::string& help) {
  return add(name, value, target, help);
}
Arguments& Arguments::option(const std::string& name, const std::string& value, double& target,
                             const std::string& help) {
  return add(name, value, target, help);
}
Arguments& Arguments::option(const std::string& name, const std::string& value,
                             std::uint64_t& target, const std::string& help) {
  return add(name, value, target, help);
}
Arguments& Arguments::option(const std::string& name, const std::string& value,
                             std::vector<std::string>& target, const std::string& help) {
  return add(name, value, target, help);
}

Arguments& Arguments::time(const std::string& name, std::optional<EpochSeconds>& target,
                           const std::string& help) {
  const auto take = [&target, name](const std::string& text) {
    target = parse_time(text);
    if (!target)
      throw CLI::ValidationError(
          name, fmt::format("\"{}\" is not a time like 2004-03-01T00:05:00Z or 2004-03-01", text));
  };
  last_ = application_.add_option_function<std::string>(name, take, help)->type_name("TIME");
  return *this;
}

Arguments& Arguments::duration(const std::string& name, int& seconds, const std::string& help) {
  const auto take = [&seconds, name](const std::string& text) {
    const auto parsed = parse_duration(text);
    if (!parsed)
      throw CLI::ValidationError(
          name, fmt::format("\"{}\" is not a duration like 30s, 5m, 2h, 1d", text));
    seconds = *parsed;
  };
  last_ = application_.add_option_function<std::string>(name, take, help)->type_name("DURATION");
  if (seconds > 0) {
    const bool minutes = seconds % 60 == 0;
    last_->default_str(fmt::format("{}{}", minutes ? seconds / 60 : seconds, minutes ? "m" : "s"));
  }
  return *this;
}

Arguments& Arguments::required() {
  last_->required();
  return *this;
}
Arguments& Arguments::one_of(std::initializer_list<std::string> choices) {
  last_->check(CLI::IsMember(std::vector<std::string>(choices)).description(""));
  std::string names;
  for (const std::string& choice : choices) names += (names.empty() ? "" : "|") + choice;
  last_->type_name(names);
  return *this;
}
Arguments& Arguments::between(double low, double high) {
  const auto check = [low, high](const std::string& text) {
    double value = 0.0;
    if (!CLI::detail::lexical_cast(text, value) || !(low <= value && value <= high))
      return fmt::format("must be between {} and {}", low, high);
    return std::string();
  };
  last_->check(CLI::Validator(check, ""));
  return *this;
}

Arguments& Arguments::says_when_given(bool& given) {
  last_->each([&given](const std::string&) { given = true; });
  return *this;
}

}  // namespace outlierd::ctl
