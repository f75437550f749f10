#pragma once
// How a verb says what it takes: name, value, target, help. Help, completion and manual pages are
// all made from these. A name without dashes is an argument by position.
//
// Targets must outlive the parse; what they hold before is the default and is shown as such.

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <vector>

#include "core/traffic/network.h"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace outlierd::ctl {

class Arguments {
 public:
  explicit Arguments(CLI::App& application) : application_(application) {}

  // One line for the list of verbs; more for the verb's own help and manual page.
  void about(const std::string& summary, const std::string& more = {});
  void example(const std::string& command, const std::string& what_it_does);

  Arguments& flag(const std::string& name, bool& target, const std::string& help);
  Arguments& option(const std::string& name, const std::string& value, std::string& target,
                    const std::string& help);
  Arguments& option(const std::string& name, const std::string& value, int& target,
                    const std::string& help);
  Arguments& option(const std::string& name, const std::string& value, double& target,
                    const std::string& help);
  Arguments& option(const std::string& name, const std::string& value, std::uint64_t& target,
                    const std::string& help);
  // May be given several times.
  Arguments& option(const std::string& name, const std::string& value,
                    std::vector<std::string>& target, const std::string& help);
  Arguments& time(const std::string& name, std::optional<EpochSeconds>& target,
                  const std::string& help);
  Arguments& duration(const std::string& name, int& seconds, const std::string& help);

  // Of the option named last.
  Arguments& required();
  Arguments& one_of(std::initializer_list<std::string> choices);
  Arguments& between(double low, double high);
  Arguments& says_when_given(bool& given);

 private:
  template <class Target>
  Arguments& add(const std::string& name, const std::string& value, Target& target,
                 const std::string& help);

  CLI::App& application_;
  CLI::Option* last_ = nullptr;
  std::string more_, examples_;
  void show_footer();
};

}  // namespace outlierd::ctl
