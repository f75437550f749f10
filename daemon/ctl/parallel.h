#pragma once
// Independent pieces of work on several threads, in order of their index; the first failure stops
// what has not begun.

#include <functional>
#include <string>
#include <tl/expected.hpp>

namespace outlierd::ctl {

// work(index) for 0 <= index < count.
tl::expected<void, std::string> run_in_parallel(
    std::size_t count, int threads,
    const std::function<tl::expected<void, std::string>(std::size_t index)>& work);

}  // namespace outlierd::ctl
