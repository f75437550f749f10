#pragma once
// The queue between whoever writes a stream and the connection that sends it. Internal.

#include <deque>
#include <memory>
#include <string>

#include "daemon/api/http.h"

namespace outlierd::api {

class Session;

class SessionStream : public Stream {
 public:
  SessionStream(Session& session, std::size_t most_bytes)
      : session_(&session), most_bytes_(most_bytes) {}

  bool write(std::shared_ptr<const std::string> bytes) override {
    if (closed_) return false;
    queued_ += bytes->size();
    if (queued_ > most_bytes_ && !queue_.empty()) {  // too slow a reader: its queue goes too
      overflowed_ = true;
      close();
      abort();
      return false;
    }
    queue_.push_back(std::move(bytes));
    wake();
    return true;
  }

  void close() override {
    if (closed_) return;
    closed_ = true;
    if (const auto tell = std::exchange(on_close, nullptr)) tell();
    wake();
  }

  // Up to about most_bytes of what is queued, as one piece.
  std::string take(std::size_t most_bytes) {
    std::string batch;
    while (!queue_.empty() &&
           (batch.empty() || batch.size() + queue_.front()->size() <= most_bytes)) {
      batch += *queue_.front();
      queued_ -= queue_.front()->size();
      queue_.pop_front();
    }
    return batch;
  }

  void end() {  // the connection is going
    close();
    session_ = nullptr;
  }
  bool closed() const { return closed_; }
  bool overflowed() const { return overflowed_; }

 private:
  void wake();
  void abort();

  Session* session_;
  const std::size_t most_bytes_;
  std::deque<std::shared_ptr<const std::string>> queue_;
  std::size_t queued_ = 0;
  bool closed_ = false, overflowed_ = false;
};

}  // namespace outlierd::api
