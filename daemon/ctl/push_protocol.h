#pragma once
// The two ways a bin reaches the daemon: JSON lines over a socket, requests over HTTP. Each turns a
// row into bytes, and bytes back into answers, which come in the order of what was sent.

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <tl/expected.hpp>

#include "daemon/ctl/address.h"
#include "daemon/ctl/slice_message.h"

namespace outlierd::ctl {

enum class Verdict {
  kAccepted,
  kLate,     // the bin is closed
  kRetry,    // taken, but not durable: send it again later
  kRefused,  // this bin is wrong
  kDenied,   // everything will be refused: no such network, no right to it
};
struct PushAnswer {
  Verdict verdict = Verdict::kAccepted;
  std::string reason;
};

class PushProtocol {
 public:
  virtual ~PushProtocol() = default;
  // A new connection: forgets what was half read, gives what is sent before the first bin.
  virtual std::string begin() = 0;
  virtual std::string encode(const TrafficRow& row) const = 0;
  // One answer from the front of `in`, nothing when it is not whole yet; a reason when what came is
  // not an answer.
  virtual tl::expected<std::optional<PushAnswer>, std::string> take_answer(std::string& in) = 0;
};

std::unique_ptr<PushProtocol> line_protocol(SliceMessage message, std::string token);
std::unique_ptr<PushProtocol> http_protocol(SliceMessage message, Address address,
                                            std::string network, std::string token, bool cbor);

}  // namespace outlierd::ctl
