#pragma once
// The small grammar of HTTP: percent-encoding, query strings, header lists, ETags, gzip. Pure and
// total.

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace outlierd::api {

bool same_ignoring_case(std::string_view x, std::string_view y);
std::string_view trimmed(std::string_view text);  // spaces and tabs at both ends

// Nothing when a % is not followed by two hexadecimal digits. In a query + is a space.
std::optional<std::string> percent_decoded(std::string_view text, bool plus_is_space);
std::string percent_encoded(std::string_view text);  // all but letters, digits and -._~
// name=value&...; nothing when the encoding is damaged. Order and repeats are kept.
std::optional<std::vector<std::pair<std::string, std::string>>> parse_query(std::string_view query);

// Accept-Encoding: whether gzip may be used (q=0 says no).
bool accepts_gzip(std::string_view accept_encoding);
// Whether If-None-Match names the tag (weak comparison) or is *.
bool names_tag(std::string_view if_none_match, std::string_view tag);
std::string weak_tag(std::string_view body);  // W/"<hash>"
std::string gzip(std::string_view text);

// "Sun, 06 Nov 1994 08:49:37 GMT"
std::string http_date(long long epoch_seconds);
// The media type of a Content-Type in lower case, without its parameters.
std::string media_type(std::string_view content_type);
bool valid_utf8(std::string_view text);

}  // namespace outlierd::api
