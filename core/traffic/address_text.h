#pragma once
// IP addresses as text: "192.0.2.1", "2001:db8::1" (RFC 5952).

#include <string>

#include "core/traffic/flow_record.h"

namespace outlierd {

std::string address_text(const IpAddress& address);  // empty for none
// The prefix of that length that holds the address, "192.0.2.0/24"; a whole address stands alone.
std::string prefix_text(IpAddress address, int length);

}  // namespace outlierd
