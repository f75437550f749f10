#pragma once
// From a message to its answer: decoded, added to its bin, made durable, answered; and from bins
// that are due to the math threads. Network thread only.
//
// A part is in the model as soon as its bin closes; it is answered once the journal has it. When
// the journal cannot be written it is scored all the same, and the answer says "not durable".

#include <array>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/traffic/bin_assembler.h"
#include "daemon/ingest/decode_matrix.h"
#include "daemon/ingest/journal_record.h"
#include "daemon/ingest/matrix_listener.h"

namespace outlierd {

enum class Fate { kAccepted, kRefused, kLate, kTooMuch, kNotDurable };

// What became of one message.
struct Receipt {
  Fate fate = Fate::kAccepted;
  std::string network;
  EpochSeconds time = 0;
  std::size_t cells = 0;
  std::string error;
};
// One JSON line, as sockets and HTTP send it.
std::string answer_of(const Receipt& receipt, std::uint64_t line);

struct IngestCounters {  // of one network
  std::uint64_t parts = 0, cells = 0, replaced = 0, duplicates = 0, late = 0, too_much = 0;
  std::uint64_t not_durable = 0, closed = 0;
};

class Ingestion {
 public:
  struct Ports {
    std::function<EpochSeconds()> now;
    using Journaled = std::function<void(std::optional<std::uint64_t> position)>;
    std::function<void(std::vector<std::byte> record, Journaled done)> journal;
    std::function<std::size_t()> journal_pending_bytes;
    // To the math threads; false when they cannot take more now.
    std::function<bool(std::size_t network, std::shared_ptr<const ClosedBin> bin)> process;
  };
  using Done = std::function<void(const Receipt&)>;

  Ingestion(std::vector<Network> networks, std::vector<AssemblerOptions> options, Ports ports);

  const ingest::NetworkDirectory& directory() const { return directory_; }
  std::size_t size() const { return networks_.size(); }
  const Network& network(std::size_t index) const { return networks_[index].network; }

  // One message; done is called once, maybe at once. The text needs MatrixDecoder::kPadding.
  const ingest::Backlog* json(std::string_view text, std::string_view meant, Done done);
  const ingest::Backlog* cbor(std::span<const std::byte> bytes, std::string_view meant, Done done);

  // A part that was made here, of flow records.
  void part(std::size_t network, MatrixPart part, Done done);

  void tick();        // every second or so: what is quiet closes
  void pump();        // when the math threads have done something
  bool idle() const;  // nothing waits for the math threads

  // For restarts. replay() gives the bins that a recorded decision closes.
  BinAssembler::Memory memory(std::size_t network) const;
  void restore(std::size_t network, const BinAssembler::Memory& memory);
  std::vector<ClosedBin> replay(const ingest::JournalRecord& record, std::uint64_t position,
                                std::size_t& network);
  // A snapshot of the network with all bins up to this one is durable.
  void on_snapshot(std::size_t network, EpochSeconds closed_through);
  std::uint64_t next_position() const { return last_position_ + 1; }  // as far as is known
  // Records before it are needed no more.
  std::uint64_t needed_position() const;
  bool wants_snapshot(std::size_t network) const;  // something is in the model and nowhere else

  const IngestCounters& counters(std::size_t network) const { return networks_[network].counters; }
  const BinAssembler& assembler(std::size_t network) const { return networks_[network].assembler; }
  std::size_t waiting(std::size_t network) const { return networks_[network].waiting.size(); }
  const std::array<std::uint64_t, ingest::kRefusalReasons>& refused() const { return refused_; }

 private:
  struct NetworkState {
    Network network;
    BinAssembler assembler;
    std::deque<std::shared_ptr<const ClosedBin>> waiting;  // for the math threads
    ingest::Backlog backlog;
    IngestCounters counters;
    std::map<EpochSeconds, std::uint64_t> first_position;  // of bins no snapshot has
    std::optional<EpochSeconds> undurable_through;         // latest bin with a part not on disk
  };

  const ingest::Backlog* take(tl::expected<ingest::DecodedPart, ingest::Refusal> decoded,
                              Done done);
  void journal_part(NetworkState& state, std::size_t index, const ingest::DecodedPart& decoded,
                    Receipt receipt, Done done);
  void close_due(std::size_t index, EpochSeconds now);
  void pump(std::size_t index);
  std::size_t index_of(const std::string& name) const;

  Ports ports_;
  ingest::NetworkDirectory directory_;
  ingest::MatrixDecoder decoder_;
  std::vector<NetworkState> networks_;
  std::array<std::uint64_t, ingest::kRefusalReasons> refused_{};
  std::uint64_t last_position_ = 0;  // known to be durable
};

}  // namespace outlierd
