#pragma once
// Finds the route of a request and checks its parameters against the table. Pure and total.

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <tl/expected.hpp>

#include "daemon/api/history.h"
#include "daemon/api/http.h"
#include "daemon/api/routes.h"

namespace outlierd::api {

// The parameters of a request, checked: what a getter asks for is there in the right form, or was
// not given.
class Arguments {
 public:
  std::optional<std::string> text(std::string_view name) const;
  std::string needed(std::string_view name) const { return text(name).value_or(""); }
  std::optional<EpochSeconds> time(std::string_view name) const;
  std::optional<std::int64_t> integer(std::string_view name) const;
  std::optional<double> number(std::string_view name) const;
  std::optional<Place> place(std::string_view name) const;  // of a cursor
  TimeRange range() const;                                  // from and to
  std::size_t limit() const;

  void set(std::string_view name, std::string value) {
    values_[std::string(name)] = std::move(value);
  }

 private:
  std::map<std::string, std::string, std::less<>> values_;
};

struct Match {
  const Route* route =
      nullptr;  // null: none; then allow says what the path would take, if anything
  std::map<std::string, std::string> path;
  std::string allow;
};

// HEAD is matched as GET.
Match match(std::string_view method, std::string_view encoded_path);
// Path parameters and query; the reason names the parameter and what would be right.
tl::expected<Arguments, std::string> arguments_of(const Route& route, const Match& match,
                                                  std::string_view query);

std::string cursor_of(const Place& place);  // opaque to clients
std::optional<Place> place_of(std::string_view cursor);
// The word nearest in spelling, when it is near; else empty.
std::string_view nearest(std::string_view word, const std::vector<std::string_view>& known);

}  // namespace outlierd::api
