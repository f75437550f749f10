#pragma once
// Bearer tokens and what each may do. Read from a file, one a line: role[,role] token [name];
// # begins a comment. Instead of the token its hash may stand there: sha256:<64 hex digits>.
//
// Only hashes are kept, compared in constant time; no message ever holds a token. Knows no HTTP:
// the socket listeners use it too.

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

namespace outlierd::api {

enum class Role : std::uint8_t { kNone = 0, kRead = 1, kIngest = 2, kOperate = 4, kAdmin = 8 };
const char* name_of(Role role);

struct TokenRules {
  std::string file;                 // empty: there are no tokens
  bool needed_on_loopback = false;  // else a loopback peer needs none
  bool allow_anonymous = false;     // without tokens: others than loopback peers may do all too
};

struct Identity {
  std::string name;  // of the token; "loopback" or "anonymous" without one
  std::uint8_t roles = 0;
  bool may(Role role) const { return (roles & std::uint8_t(role)) == std::uint8_t(role); }
};

class Tokens {
 public:
  // A file that cannot be used is an error with file:line.
  static tl::expected<Tokens, std::string> load(TokenRules rules);
  // Reads the file again; on error the old tokens stay in force.
  tl::expected<void, std::string> reload();

  // Who it is, or nothing: a token is needed, or this one is not known. A token that is given
  // counts even where none is needed, and must be known.
  std::optional<Identity> identify(std::string_view token, bool loopback) const;
  bool empty() const { return entries_.empty(); }

 private:
  struct Entry {
    std::array<unsigned char, 32> hash{};
    Identity identity;
  };
  static tl::expected<std::vector<Entry>, std::string> read(const std::string& file);
  static tl::expected<Entry, std::string> parse_line(std::string_view line);

  TokenRules rules_;
  std::vector<Entry> entries_;
};

}  // namespace outlierd::api
