// Fuzz target: any bytes into config::load_text. They are a Config, which its dump gives again, or
// problems that can be shown to somebody.

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <tuple>

#include "config/dump.h"
#include "config/load.h"

namespace {

using namespace outlierd::config;

void demand(bool holds) {
  if (!holds) std::abort();
}

bool hides_a_secret(const Config& config) {
  return std::any_of(config.notify.begin(), config.notify.end(),
                     [](const Notifier& notifier) { return !notifier.url.user_info.empty(); });
}

void check_config(const Config& config) {
  for (const NetworkConfig& network : config.networks) {
    demand(pipeline_options_of(network).model.problem().empty());
    demand(outlierd::model::problem_of(network_of(network).shape()).empty());
  }
  const std::string text = dump(config);
  const Loaded again = load_text(text);
  if (hides_a_secret(config))
    demand(!again.has_value());
  else
    demand(again.has_value() && *again == config);
}

void check_problems(const std::vector<Problem>& problems) {
  demand(!problems.empty());
  demand(std::is_sorted(problems.begin(), problems.end(), [](const auto& a, const auto& b) {
    return std::tie(a.line, a.column) < std::tie(b.line, b.column);
  }));
  for (const Problem& problem : problems) {
    demand(problem.line >= 1 && problem.column >= 1 && !problem.message.empty());
    for (char c : format("file", problem)) demand(static_cast<unsigned char>(c) >= 0x20);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > (1 << 20)) return 0;
  const Loaded loaded = load_text({reinterpret_cast<const char*>(data), size});
  if (loaded)
    check_config(*loaded);
  else
    check_problems(loaded.error());
  return 0;
}
