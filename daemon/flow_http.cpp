#include "daemon/flow_http.h"

#include <fmt/format.h>

#include "config/address.h"
#include "daemon/flow_rules.h"

namespace outlierd {

void flow_http(FlowIntake& flows, api::IngestRequest request,
               const std::function<void(api::IngestAnswer)>& done) {
  const std::string& type = request.content_type;
  if (type != "application/json" && type != "application/x-ndjson" && type != "application/jsonl" &&
      !type.empty())
    return done({415, "send application/x-ndjson or application/json"});
  FlowNetwork* network = nullptr;
  for (const auto& one : flows.networks())
    if (one->network().name == request.network ||
        (request.network.empty() && flows.networks().size() == 1))
      network = one.get();
  if (!network) return done({422, "say which network: ?network=NAME"});
  const auto peer = config::parse_ip(request.peer);
  const IpAddress from = peer ? address_of(*peer) : IpAddress{};
  const std::size_t size = request.body.size();
  request.body.resize(size + ingest::FlowJsonDecoder::kPadding);
  const std::string_view text(request.body.data(), size);
  const std::int64_t now = FlowIntake::now();
  std::uint64_t line = 0, taken = 0, refused = 0, first_refused = 0;
  std::string reason;
  for (std::size_t begin = 0; begin < size;) {
    const std::size_t end = std::min(text.find('\n', begin), size);
    const std::string_view one = text.substr(begin, end - begin);
    begin = end + 1;
    ++line;
    if (one.find_first_not_of(" \r\t") == one.npos) continue;
    if (network->line(one, from, now) == ingest::FlowRefusal::kNone) {
      ++taken;
      continue;
    }
    if (refused++ > 0) continue;
    first_refused = line;
    reason = network->problem();
  }
  if (taken == 0 && refused == 0) return done({422, "there is no record in the body"});
  if (refused > 0)
    return done({422, fmt::format("line {}: {} ({} lines taken, {} refused)", first_refused, reason,
                                  taken, refused)});
  done({202, fmt::format("{{\"ok\":true,\"lines\":{}}}", taken)});
}

}  // namespace outlierd
