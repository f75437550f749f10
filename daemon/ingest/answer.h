#pragma once
// What a sender is told of a message: one JSON object, the same over sockets and HTTP.

#include <cstdint>
#include <string>
#include <string_view>

#include "core/traffic/network.h"

namespace outlierd::ingest {

std::string accepted_answer(const std::string& network, EpochSeconds time, std::size_t cells);
std::string refused_answer(std::uint64_t line, std::string_view error);
std::string not_durable_answer(std::uint64_t line);
std::string welcome_answer();  // to a token

// The token of a greeting {"token":"..."}; empty if it is none. Needs MatrixDecoder::kPadding.
std::string token_of(std::string_view line);

}  // namespace outlierd::ingest
