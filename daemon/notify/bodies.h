#pragma once
// What is posted to receivers: the JSON of Alertmanager's API v2, and that of its webhook,
// version 4. Pure functions.

#include <span>
#include <vector>

#include "daemon/notify/alert.h"

namespace outlierd::notify {

// POST /api/v2/alerts. What fires ends by itself at `until` unless it is sent again.
std::string alertmanager_body(std::span<const Alert> alerts, EpochSeconds until);
// One alert, its own group.
std::string webhook_body(const Alert& alert);

// Of a body: "sha256=" and 64 hexadecimal digits of HMAC-SHA256 (RFC 2104).
std::string signature_of(std::string_view body, std::string_view key);
std::string base64(std::string_view bytes);

}  // namespace outlierd::notify
