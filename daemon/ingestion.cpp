#include "daemon/ingestion.h"

#include <algorithm>
#include <cmath>

#include "core/traffic/time_text.h"
#include "daemon/ingest/answer.h"

namespace outlierd {
namespace {

constexpr EpochSeconds kFarthestAhead = 86400;  // one wrong clock must not close every bin to come
constexpr std::size_t kMostWaiting = 4;         // closed bins that wait before readers pause
constexpr std::size_t kMostJournalBytes = std::size_t{64} << 20;

}  // namespace

std::string answer_of(const Receipt& receipt, std::uint64_t line) {
  switch (receipt.fate) {
    case Fate::kAccepted:
      return ingest::accepted_answer(receipt.network, receipt.time, receipt.cells);
    case Fate::kNotDurable:
      return ingest::not_durable_answer(line);
    default:
      return ingest::refused_answer(line, receipt.error);
  }
}

Ingestion::Ingestion(std::vector<Network> networks, std::vector<AssemblerOptions> options,
                     Ports ports)
    : ports_(std::move(ports)), decoder_(directory_) {
  for (std::size_t k = 0; k < networks.size(); ++k) {
    directory_.emplace(networks[k].name, ingest::KnownNetwork(networks[k]));
    networks_.push_back({networks[k], BinAssembler(networks[k], options[k]), {}, {}, {}, {}, {}});
  }
}

std::size_t Ingestion::index_of(const std::string& name) const {
  for (std::size_t k = 0; k < networks_.size(); ++k)
    if (networks_[k].network.name == name) return k;
  return networks_.size();
}

const ingest::Backlog* Ingestion::json(std::string_view text, std::string_view meant, Done done) {
  return take(decoder_.json(text, meant), std::move(done));
}

const ingest::Backlog* Ingestion::cbor(std::span<const std::byte> bytes, std::string_view meant,
                                       Done done) {
  return take(decoder_.cbor(bytes, meant), std::move(done));
}

void Ingestion::part(std::size_t network, MatrixPart part, Done done) {
  ingest::DecodedPart decoded;
  decoded.network = &directory_.find(networks_[network].network.name)->second;
  decoded.cells = std::size_t(std::count_if(part.values.begin(), part.values.end(),
                                            [](double value) { return !std::isnan(value); }));
  decoded.part = std::move(part);
  take(std::move(decoded), std::move(done));
}

const ingest::Backlog* Ingestion::take(tl::expected<ingest::DecodedPart, ingest::Refusal> decoded,
                                       Done done) {
  const EpochSeconds now = ports_.now();
  if (decoded && decoded->part.time > now + kFarthestAhead)
    decoded = tl::unexpected(ingest::Refusal{
        ingest::RefusalReason::kBadTime,
        "time: " + time_text(decoded->part.time) + " is more than a day ahead of the clock here"});
  if (!decoded) {
    ++refused_[std::size_t(decoded.error().reason)];
    done({Fate::kRefused, "", 0, 0, decoded.error().message});
    return nullptr;
  }
  const std::size_t index = index_of(decoded->network->network().name);
  NetworkState& state = networks_[index];
  Receipt receipt{Fate::kAccepted, state.network.name, decoded->part.time, decoded->cells, ""};
  switch (state.assembler.add(decoded->part, now)) {
    case PartVerdict::kLate:
      ++state.counters.late;
      receipt.fate = Fate::kLate;
      receipt.error = "late: the bin " + time_text(receipt.time) + " is closed";
      done(receipt);
      return &state.backlog;
    case PartVerdict::kTooMuch:
      ++state.counters.too_much;
      receipt.fate = Fate::kTooMuch;
      receipt.error = "too much: the open bins of this network hold all they may";
      done(receipt);
      return &state.backlog;
    case PartVerdict::kDuplicate:
      ++state.counters.duplicates;
      break;
    case PartVerdict::kReplaced:
      ++state.counters.replaced;
      break;
    case PartVerdict::kAdded:
      ++state.counters.parts;
      state.counters.cells += decoded->cells;
      break;
  }
  journal_part(state, index, *decoded, std::move(receipt), std::move(done));
  close_due(index, now);
  return &state.backlog;
}

// A duplicate is in the model already: its answer only waits its turn behind what it repeats.
void Ingestion::journal_part(NetworkState& state, std::size_t index,
                             const ingest::DecodedPart& decoded, Receipt receipt, Done done) {
  const std::optional<EpochSeconds> closed = state.assembler.closed_through();
  const bool duplicate = closed && receipt.time <= *closed;
  std::vector<std::byte> record =
      duplicate ? ingest::encode_close(state.network.name, *closed)
                : ingest::encode_part(state.network, ports_.now(), decoded.part);
  ports_.journal(std::move(record), [this, index, duplicate, receipt = std::move(receipt),
                                     done = std::move(done)](auto position) mutable {
    NetworkState& at = networks_[index];
    if (position) last_position_ = std::max(last_position_, *position);
    if (!position && !duplicate)
      at.undurable_through = std::max(at.undurable_through.value_or(receipt.time), receipt.time);
    if (position && !duplicate) at.first_position.emplace(receipt.time, *position);
    const bool in_memory_only =
        duplicate && at.undurable_through && receipt.time <= *at.undurable_through;
    if (!position || in_memory_only) {
      ++at.counters.not_durable;
      receipt.fate = Fate::kNotDurable;
    }
    done(receipt);
  });
}

void Ingestion::close_due(std::size_t index, EpochSeconds now) {
  NetworkState& state = networks_[index];
  const std::optional<EpochSeconds> due = state.assembler.due(now);
  if (!due) return;
  ports_.journal(ingest::encode_close(state.network.name, *due), [this](auto position) {
    if (position) last_position_ = std::max(last_position_, *position);
  });
  for (ClosedBin& bin : state.assembler.close_through(*due)) {
    ++state.counters.closed;
    state.waiting.push_back(std::make_shared<const ClosedBin>(std::move(bin)));
  }
  pump(index);
}

void Ingestion::pump(std::size_t index) {
  NetworkState& state = networks_[index];
  while (!state.waiting.empty() && ports_.process(index, state.waiting.front()))
    state.waiting.pop_front();
  state.backlog.full =
      state.waiting.size() >= kMostWaiting || ports_.journal_pending_bytes() > kMostJournalBytes;
}

void Ingestion::pump() {
  for (std::size_t k = 0; k < networks_.size(); ++k) pump(k);
}

void Ingestion::tick() {
  const EpochSeconds now = ports_.now();
  for (std::size_t k = 0; k < networks_.size(); ++k) close_due(k, now);
  pump();
}

bool Ingestion::idle() const {
  return std::all_of(networks_.begin(), networks_.end(),
                     [](const NetworkState& state) { return state.waiting.empty(); });
}

BinAssembler::Memory Ingestion::memory(std::size_t network) const {
  return networks_[network].assembler.memory();
}

void Ingestion::restore(std::size_t network, const BinAssembler::Memory& memory) {
  networks_[network].assembler.restore(memory);
}

std::vector<ClosedBin> Ingestion::replay(const ingest::JournalRecord& record,
                                         std::uint64_t position, std::size_t& network) {
  last_position_ = std::max(last_position_, position);
  if (const auto* part = std::get_if<ingest::PartRecord>(&record)) {
    network = index_of(part->network);
    NetworkState& state = networks_[network];
    const PartVerdict verdict = state.assembler.add(part->part, part->received);
    if (verdict == PartVerdict::kAdded || verdict == PartVerdict::kReplaced)
      state.first_position.emplace(part->part.time, position);
    return {};
  }
  const auto& close = std::get<ingest::CloseRecord>(record);
  network = index_of(close.network);
  return networks_[network].assembler.close_through(close.time);
}

void Ingestion::on_snapshot(std::size_t network, EpochSeconds closed_through) {
  NetworkState& state = networks_[network];
  state.first_position.erase(state.first_position.begin(),
                             state.first_position.upper_bound(closed_through));
  if (state.undurable_through && *state.undurable_through <= closed_through)
    state.undurable_through.reset();
}

std::uint64_t Ingestion::needed_position() const {
  std::uint64_t needed = last_position_ + 1;
  for (const NetworkState& state : networks_)
    for (const auto& [bin, position] : state.first_position) needed = std::min(needed, position);
  return needed;
}

bool Ingestion::wants_snapshot(std::size_t network) const {
  const NetworkState& state = networks_[network];
  const auto closed = state.assembler.closed_through();
  return state.undurable_through && closed && *state.undurable_through <= *closed;
}

}  // namespace outlierd
