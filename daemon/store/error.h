#pragma once
// Why something on disk could not be done: a kind to act on and a sentence to log.

#include <string>
#include <tl/expected.hpp>
#include <utility>

namespace outlierd::store {

struct StoreError {
  enum class Kind {
    kDisk,       // full, read-only, failing, no permission: may pass, try again later
    kBusy,       // someone else holds the database: try again
    kDamaged,    // what was read is not what was written
    kNewer,      // written by a later version of outlierd
    kLocked,     // another process owns the directory
    kNotFound,   // no such network, node, event, ...
    kInvalid,    // the caller asked for something that cannot be: a bad cursor, a wrong shape
    kExists,     // would overwrite
    kCancelled,  // the caller's callback said stop
  };
  Kind kind = Kind::kDisk;
  std::string message;  // one sentence, no full stop
};

template <class T>
using Outcome = tl::expected<T, StoreError>;

inline tl::unexpected<StoreError> failure(StoreError::Kind kind, std::string message) {
  return tl::unexpected<StoreError>(StoreError{kind, std::move(message)});
}

}  // namespace outlierd::store
