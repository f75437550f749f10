#include "core/detect/report.h"

#include <array>
#include <string_view>

namespace outlierd {
namespace {

constexpr std::array<const char*, 8> kShapes = {"spike",  "drop",  "ddos",  "scan",
                                                "outage", "shift", "level", "network"};

}  // namespace

const char* name_of(Shape shape) { return kShapes[std::size_t(shape)]; }

std::optional<Shape> shape_named(std::string_view name) {
  for (std::size_t i = 0; i < kShapes.size(); ++i)
    if (name == kShapes[i]) return Shape(i);
  return std::nullopt;
}

}  // namespace outlierd
