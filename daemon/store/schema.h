#pragma once
// The tables, as steps from one version to the next. A file of a later version is refused.

#include "daemon/store/database.h"
#include "daemon/store/error.h"

namespace outlierd::store {

inline constexpr int kApplicationId = 0x4F55544C;  // "OUTL"
inline constexpr int kSchemaVersion = 4;

// The version it has, 0 for an empty one. kNewer: of a later outlierd. kInvalid: not outlierd's.
Outcome<int> schema_version(Database& database);

// Brings an empty or older database to kSchemaVersion, each step in a transaction of its own.
// Returns the version it had.
Outcome<int> migrate(Database& database);

// The statements that lead from version - 1 to version.
const char* migration_to(int version);

}  // namespace outlierd::store
