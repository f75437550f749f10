#pragma once
// SQLite with errors that stick: after the first failure every statement does nothing until
// take_error() is asked, so that a function of many statements checks once, at its end.
//
// One connection, one thread at a time. Statements are prepared once and kept.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "daemon/store/error.h"

struct sqlite3;
struct sqlite3_stmt;

namespace outlierd::store {

class Database {
 public:
  enum class Access { kReadOnly, kReadWrite };  // kReadWrite creates it
  static Outcome<Database> open(const std::filesystem::path& path, Access access);
  ~Database();
  Database(Database&&) noexcept;
  Database& operator=(Database&&) noexcept;

  void execute(const char* statements);
  std::int64_t number(const std::string& query);  // of its first row; 0 without one
  std::int64_t last_id() const;
  std::int64_t changes() const;
  bool ok() const;
  // The first error since it was last asked.
  std::optional<StoreError> take_error();
  // take_error() as an outcome.
  Outcome<void> outcome();

  sqlite3* handle() const;
  const std::filesystem::path& path() const;

 private:
  friend class Query;
  friend class Transaction;
  struct State;
  explicit Database(std::unique_ptr<State> state);
  std::unique_ptr<State> state_;
};

// One use of a statement; values are bound in the order of their question marks. The same statement
// is not used twice at the same time.
class Query {
 public:
  Query(Database& database, const std::string& sql);
  ~Query();
  Query(const Query&) = delete;
  Query& operator=(const Query&) = delete;

  Query& bind(std::int64_t value);
  Query& bind(int value) { return bind(std::int64_t(value)); }
  Query& bind(bool value) { return bind(std::int64_t(value)); }
  Query& bind(double value);                      // NaN is stored as NULL
  Query& bind(std::string_view value);            // must live until the statement ran
  Query& bind(std::span<const std::byte> value);  // must live until the statement ran
  Query& bind(const std::optional<std::int64_t>& value);

  bool step();  // true: there is a row
  void run() {
    while (step()) {
    }
  }
  void again();  // forgets rows and values: to be bound anew

  std::int64_t integer(int column) const;
  double real(int column) const;  // NULL is NaN
  std::string text(int column) const;
  std::span<const std::byte> blob(int column) const;  // until the next step
  bool is_null(int column) const;
  std::optional<std::int64_t> maybe_integer(int column) const;

 private:
  Database& database_;
  sqlite3_stmt* statement_ = nullptr;
  int bound_ = 0;
};

// Rolled back unless commit() succeeded.
class Transaction {
 public:
  explicit Transaction(Database& database, bool writes = true);
  ~Transaction();
  Transaction(const Transaction&) = delete;
  Transaction& operator=(const Transaction&) = delete;
  void commit();

 private:
  Database& database_;
};

}  // namespace outlierd::store
