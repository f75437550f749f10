#include "daemon/http_ingest.h"

#include <memory>
#include <optional>

namespace outlierd {
namespace {

int status_of(Fate fate) {
  switch (fate) {
    case Fate::kAccepted:
      return 202;
    case Fate::kLate:
      return 409;
    case Fate::kTooMuch:
      return 429;
    case Fate::kNotDurable:
      return 503;
    case Fate::kRefused:
      return 422;
  }
  return 500;
}

std::string text_of(const Receipt& receipt, std::uint64_t line) {
  switch (receipt.fate) {
    case Fate::kAccepted:
      return answer_of(receipt, line);
    case Fate::kNotDurable:
      return "not durable: the journal cannot be written; send it again";
    default:
      return receipt.error;
  }
}

// The messages of one request: the answer is that of the first one that failed, else of the last.
struct Batch {
  std::function<void(api::IngestAnswer)> done;
  std::size_t unanswered = 0;
  bool all_sent = false;
  std::optional<std::pair<std::uint64_t, Receipt>> failed;
  Receipt last;
  std::uint64_t messages = 0;

  void answer(std::uint64_t line, const Receipt& receipt) {
    --unanswered;
    last = receipt;
    if (receipt.fate != Fate::kAccepted && (!failed || line < failed->first))
      failed.emplace(line, receipt);
    finish();
  }
  void finish() {
    if (!all_sent || unanswered > 0 || !done) return;
    const auto tell = std::exchange(done, {});
    if (messages == 0) return tell({422, "there is no message in the body"});
    if (!failed) return tell({202, text_of(last, messages)});
    std::string text = text_of(failed->second, failed->first);
    if (messages > 1) text = "line " + std::to_string(failed->first) + ": " + text;
    tell({status_of(failed->second.fate), std::move(text)});
  }
};

}  // namespace

void http_ingest(Ingestion& ingestion, api::IngestRequest request,
                 std::function<void(api::IngestAnswer)> done) {
  const auto batch = std::make_shared<Batch>();
  batch->done = std::move(done);
  const auto one = [&](std::uint64_t line) {
    ++batch->unanswered;
    ++batch->messages;
    return [batch, line](const Receipt& receipt) { batch->answer(line, receipt); };
  };
  const std::string& type = request.content_type;
  if (type == "application/cbor") {
    ingestion.cbor(std::as_bytes(std::span(request.body)), request.network, one(1));
  } else if (type == "application/json" || type == "application/x-ndjson" ||
             type == "application/jsonl" || type.empty()) {
    const std::size_t size = request.body.size();
    request.body.resize(size + ingest::MatrixDecoder::kPadding);
    const std::string_view text(request.body.data(), size);
    if (type == "application/json" || type.empty()) {
      ingestion.json(text, request.network, one(1));
    } else {
      std::uint64_t line = 0;
      for (std::size_t begin = 0; begin < size;) {
        const std::size_t end = std::min(text.find('\n', begin), size);
        ++line;
        if (text.substr(begin, end - begin).find_first_not_of(" \r\t") != text.npos)
          ingestion.json(text.substr(begin, end - begin), request.network, one(line));
        begin = end + 1;
      }
    }
  } else {
    return batch->done({415, "send application/json, application/x-ndjson or application/cbor"});
  }
  batch->all_sent = true;
  batch->finish();
}

}  // namespace outlierd
