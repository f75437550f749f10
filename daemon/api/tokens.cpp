#include "daemon/api/tokens.h"

#include <openssl/crypto.h>
#include <openssl/sha.h>
#include <sys/stat.h>

#include <cerrno>
#include <cstring>
#include <fstream>
#include <iterator>
#include <system_error>

namespace outlierd::api {
namespace {

constexpr std::size_t kShortestToken = 16;
constexpr std::string_view kHashMark = "sha256:";
constexpr Role kRoles[] = {Role::kRead, Role::kIngest, Role::kOperate, Role::kAdmin};

std::array<unsigned char, 32> hash_of(std::string_view token) {
  std::array<unsigned char, 32> hash{};
  SHA256(reinterpret_cast<const unsigned char*>(token.data()), token.size(), hash.data());
  return hash;
}

int hex_digit(char c) {
  if (c >= '0' && c <= '9') return c - '0';
  if (c >= 'a' && c <= 'f') return c - 'a' + 10;
  return c >= 'A' && c <= 'F' ? c - 'A' + 10 : -1;
}

std::optional<std::array<unsigned char, 32>> parse_hash(std::string_view hex) {
  std::array<unsigned char, 32> hash{};
  if (hex.size() != 64) return std::nullopt;
  for (std::size_t k = 0; k < 32; ++k) {
    const int high = hex_digit(hex[2 * k]), low = hex_digit(hex[2 * k + 1]);
    if (high < 0 || low < 0) return std::nullopt;
    hash[k] = static_cast<unsigned char>(high * 16 + low);
  }
  return hash;
}

std::string_view take_word(std::string_view& line) {
  const std::size_t begin = line.find_first_not_of(" \t\r");
  if (begin == std::string_view::npos) return line = {};
  line.remove_prefix(begin);
  const std::size_t end = std::min(line.find_first_of(" \t\r"), line.size());
  const std::string_view word = line.substr(0, end);
  line.remove_prefix(end);
  return word;
}

// admin may do all, operate may read.
std::optional<std::uint8_t> roles_of(std::string_view list) {
  std::uint8_t roles = 0;
  while (true) {
    const std::size_t end = list.find(',');
    bool known = false;
    for (Role role : kRoles)
      if (list.substr(0, end) == name_of(role)) {
        known = true;
        roles = std::uint8_t(roles | std::uint8_t(role));
      }
    if (!known) return std::nullopt;
    if (end == std::string_view::npos) break;
    list.remove_prefix(end + 1);
  }
  if (roles & std::uint8_t(Role::kAdmin)) roles = 15;
  if (roles & std::uint8_t(Role::kOperate)) roles = std::uint8_t(roles | std::uint8_t(Role::kRead));
  return roles;
}

}  // namespace

const char* name_of(Role role) {
  switch (role) {
    case Role::kRead:
      return "read";
    case Role::kIngest:
      return "ingest";
    case Role::kOperate:
      return "operate";
    case Role::kAdmin:
      return "admin";
    case Role::kNone:
      break;
  }
  return "none";
}

tl::expected<Tokens::Entry, std::string> Tokens::parse_line(std::string_view line) {
  const std::string_view roles = take_word(line);
  const std::string_view token = take_word(line);
  Entry entry;
  const auto known = roles_of(roles);
  // The word is not repeated: where the columns are swapped it is the token.
  if (!known)
    return tl::unexpected<std::string>("the first word must be of read, ingest, operate, admin");
  entry.identity.roles = *known;
  if (token.starts_with(kHashMark)) {
    const auto hash = parse_hash(token.substr(kHashMark.size()));
    if (!hash) return tl::unexpected<std::string>("sha256: needs 64 hexadecimal digits");
    entry.hash = *hash;
  } else {
    if (token.size() < kShortestToken)
      return tl::unexpected<std::string>("a token needs at least 16 characters");
    entry.hash = hash_of(token);
  }
  entry.identity.name = std::string(take_word(line));
  if (!take_word(line).empty())
    return tl::unexpected<std::string>("more than role, token and name");
  return entry;
}

tl::expected<std::vector<Tokens::Entry>, std::string> Tokens::read(const std::string& file) {
  const auto because = [&](const std::string& why) { return tl::unexpected(file + ": " + why); };
  struct stat status {};
  if (stat(file.c_str(), &status) != 0) return because(std::system_category().message(errno));
  if (!S_ISREG(status.st_mode)) return because("is not a regular file");
  if (status.st_mode & S_IRWXO)
    return because("others than its owner and group may use it; chmod o= it");
  std::ifstream in(file);
  if (!in) return because("cannot be read");
  std::vector<Entry> entries;
  std::string line;
  for (int number = 1; std::getline(in, line); ++number) {
    std::string_view rest = line;
    const std::size_t begin = rest.find_first_not_of(" \t\r");
    if (begin == std::string_view::npos || rest[begin] == '#') continue;
    auto entry = parse_line(rest);
    if (!entry) return tl::unexpected(file + ":" + std::to_string(number) + ": " + entry.error());
    if (entry->identity.name.empty()) entry->identity.name = "line " + std::to_string(number);
    entries.push_back(std::move(*entry));
  }
  OPENSSL_cleanse(line.data(), line.size());
  if (in.bad()) return because("cannot be read");
  if (entries.empty()) return because("holds no token");
  return entries;
}

tl::expected<Tokens, std::string> Tokens::load(TokenRules rules) {
  Tokens tokens;
  tokens.rules_ = std::move(rules);
  if (auto loaded = tokens.reload(); !loaded) return tl::unexpected(loaded.error());
  return tokens;
}

tl::expected<void, std::string> Tokens::reload() {
  if (rules_.file.empty()) return {};
  auto entries = read(rules_.file);
  if (!entries) return tl::unexpected(entries.error());
  entries_ = std::move(*entries);
  return {};
}

std::optional<Identity> Tokens::identify(std::string_view token, bool loopback) const {
  if (!token.empty() && !entries_.empty()) {
    const auto hash = hash_of(token);
    const Entry* found = nullptr;
    for (const Entry& entry : entries_)  // all of them: how long it takes says nothing
      if (CRYPTO_memcmp(entry.hash.data(), hash.data(), hash.size()) == 0) found = &entry;
    if (!found) return std::nullopt;
    return found->identity;
  }
  if (loopback && !rules_.needed_on_loopback) return Identity{"loopback", 15};
  if (entries_.empty() && rules_.allow_anonymous) return Identity{"anonymous", 15};
  return std::nullopt;
}

}  // namespace outlierd::api
