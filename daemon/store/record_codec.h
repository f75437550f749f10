#pragma once
// The parts of records that are stored as bytes or words. What stands on disk is fixed here, so
// that renaming things elsewhere changes no file.

#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/detect/report.h"

namespace outlierd::store {

const char* stored_word(Shape shape);
std::optional<Shape> stored_shape(std::string_view word);

// Origins, destinations and cells of an event, by their places in its layout.
std::vector<std::byte> encode_members(const Event& event);
// False if the bytes are not that; places are below `nodes` and `metrics`.
bool decode_members(std::span<const std::byte> bytes, std::size_t nodes, std::size_t metrics,
                    Event& out);

std::vector<std::byte> encode_numbers(std::span<const double> numbers);
std::vector<double> decode_numbers(std::span<const std::byte> bytes);

}  // namespace outlierd::store
