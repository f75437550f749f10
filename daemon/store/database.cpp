#include "daemon/store/database.h"

#include <sqlite3.h>

#include <cmath>
#include <limits>
#include <system_error>
#include <unordered_map>
#include <utility>

namespace outlierd::store {

struct Database::State {
  sqlite3* handle = nullptr;
  std::filesystem::path path;
  std::unordered_map<std::string, sqlite3_stmt*> statements;
  std::optional<StoreError> error;

  ~State() {
    for (const auto& [sql, statement] : statements) sqlite3_finalize(statement);
    sqlite3_close(handle);
  }

  static StoreError::Kind kind_of(int code) {
    switch (code & 0xff) {
      case SQLITE_BUSY:
      case SQLITE_LOCKED:
        return StoreError::Kind::kBusy;
      case SQLITE_CORRUPT:
      case SQLITE_NOTADB:
        return StoreError::Kind::kDamaged;
      case SQLITE_CONSTRAINT:
      case SQLITE_ERROR:
      case SQLITE_MISUSE:
      case SQLITE_RANGE:
      case SQLITE_MISMATCH:
      case SQLITE_TOOBIG:
        return StoreError::Kind::kInvalid;
      default:
        return StoreError::Kind::kDisk;
    }
  }

  void fail(int code) {
    if (error) return;
    std::string message = path.string() + ": " + sqlite3_errmsg(handle);
    const int system = sqlite3_system_errno(handle);
    if (kind_of(code) == StoreError::Kind::kDisk && system != 0)
      message += " (" + std::generic_category().message(system) + ")";
    error = StoreError{kind_of(code), std::move(message)};
  }
};

Database::Database(std::unique_ptr<State> state) : state_(std::move(state)) {}
Database::~Database() = default;
Database::Database(Database&&) noexcept = default;
Database& Database::operator=(Database&&) noexcept = default;

Outcome<Database> Database::open(const std::filesystem::path& path, Access access) {
  auto state = std::make_unique<State>();
  state->path = path;
  const int flags = SQLITE_OPEN_NOMUTEX |
                    (access == Access::kReadOnly ? SQLITE_OPEN_READONLY
                                                 : SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE);
  const int code = sqlite3_open_v2(path.c_str(), &state->handle, flags, nullptr);
  if (code != SQLITE_OK) {
    state->fail(code);
    return tl::unexpected(*state->error);
  }
  sqlite3_extended_result_codes(state->handle, 1);
  return Database(std::move(state));
}

void Database::execute(const char* statements) {
  if (!ok()) return;
  const int code = sqlite3_exec(state_->handle, statements, nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) state_->fail(code);
}

std::int64_t Database::number(const std::string& query) {
  Query row(*this, query);
  return row.step() ? row.integer(0) : 0;
}

std::int64_t Database::last_id() const { return sqlite3_last_insert_rowid(state_->handle); }
std::int64_t Database::changes() const { return sqlite3_changes64(state_->handle); }
bool Database::ok() const { return !state_->error; }
sqlite3* Database::handle() const { return state_->handle; }
const std::filesystem::path& Database::path() const { return state_->path; }

std::optional<StoreError> Database::take_error() {
  return std::exchange(state_->error, std::nullopt);
}

Outcome<void> Database::outcome() {
  if (auto error = take_error()) return tl::unexpected(std::move(*error));
  return {};
}

Query::Query(Database& database, const std::string& sql) : database_(database) {
  if (!database.ok()) return;
  const auto [entry, added] = database.state_->statements.try_emplace(sql, nullptr);
  if (added) {
    const int code = sqlite3_prepare_v3(database.handle(), sql.c_str(), int(sql.size()),
                                        SQLITE_PREPARE_PERSISTENT, &entry->second, nullptr);
    if (code != SQLITE_OK) {
      database.state_->fail(code);
      database.state_->statements.erase(entry);
      return;
    }
  }
  statement_ = entry->second;
}

Query::~Query() { again(); }

void Query::again() {
  if (statement_) {
    sqlite3_reset(statement_);
    sqlite3_clear_bindings(statement_);
  }
  bound_ = 0;
}

Query& Query::bind(std::int64_t value) {
  if (statement_) sqlite3_bind_int64(statement_, ++bound_, value);
  return *this;
}

Query& Query::bind(double value) {
  if (statement_) sqlite3_bind_double(statement_, ++bound_, value);
  return *this;
}

Query& Query::bind(std::string_view value) {
  const char* text = value.data() ? value.data() : "";
  if (statement_) sqlite3_bind_text(statement_, ++bound_, text, int(value.size()), SQLITE_STATIC);
  return *this;
}

Query& Query::bind(std::span<const std::byte> value) {
  const void* data = value.data() ? static_cast<const void*>(value.data()) : "";
  if (statement_) sqlite3_bind_blob64(statement_, ++bound_, data, value.size(), SQLITE_STATIC);
  return *this;
}

Query& Query::bind(const std::optional<std::int64_t>& value) {
  if (value) return bind(*value);
  if (statement_) sqlite3_bind_null(statement_, ++bound_);
  return *this;
}

bool Query::step() {
  if (!statement_ || !database_.ok()) return false;
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code != SQLITE_DONE) database_.state_->fail(code);
  return false;
}

std::int64_t Query::integer(int column) const { return sqlite3_column_int64(statement_, column); }

double Query::real(int column) const {
  return is_null(column) ? std::numeric_limits<double>::quiet_NaN()
                         : sqlite3_column_double(statement_, column);
}

std::string Query::text(int column) const {
  const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(statement_, column));
  return text ? std::string(text, std::size_t(sqlite3_column_bytes(statement_, column)))
              : std::string();
}

std::span<const std::byte> Query::blob(int column) const {
  const auto* data = static_cast<const std::byte*>(sqlite3_column_blob(statement_, column));
  return {data, std::size_t(sqlite3_column_bytes(statement_, column))};
}

bool Query::is_null(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}

std::optional<std::int64_t> Query::maybe_integer(int column) const {
  if (is_null(column)) return std::nullopt;
  return integer(column);
}

Transaction::Transaction(Database& database, bool writes) : database_(database) {
  database_.execute(writes ? "BEGIN IMMEDIATE" : "BEGIN");
}

// An error does not stop a rollback.
Transaction::~Transaction() {
  if (!sqlite3_get_autocommit(database_.handle()))
    sqlite3_exec(database_.handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

void Transaction::commit() { database_.execute("COMMIT"); }

}  // namespace outlierd::store
