// StreamingFactorizer to bytes and back.
//
//   magic "OUTLFACT" | u32 version | u64 length of body | u64 crc64 of body | body
//
// The body holds shape, window, max_rank and rules (they must agree with what the caller asks for),
// then the members of State that are marked as its state proper. Everything else is derived.

#include <algorithm>
#include <cmath>

#include "core/byte_stream.h"
#include "core/model/factorizer_state.h"

namespace outlierd::model {
namespace {

constexpr char kMagic[8] = {'O', 'U', 'T', 'L', 'F', 'A', 'C', 'T'};
constexpr std::uint32_t kVersion = 1;
constexpr std::size_t kHeaderBytes = sizeof kMagic + 4 + 8 + 8;
constexpr const char* kContradiction = "the snapshot contradicts itself";
constexpr int kLargestExponent = 1100;                        // beyond every double
constexpr std::int64_t kMostLearned = std::int64_t{1} << 60;  // slices

void write_rows(ByteWriter& out, const FactorRows& factor, int rows, int rank) {
  for (int i = 0; i < rows; ++i) {
    out.numbers(std::span<const double>(factor.mean_of(i), std::size_t(rank)));
    out.numbers(std::span<const double>(factor.moment_of(i), std::size_t(packed_size(rank))));
  }
}

// False if a number is not finite.
bool read_rows(ByteReader& in, FactorRows& factor, int rows, int rank) {
  const auto finite = [](double x) { return std::isfinite(x); };
  for (int i = 0; i < rows; ++i) {
    const std::span<double> mean(factor.mean_of(i), std::size_t(rank));
    const std::span<double> moment(factor.moment_of(i), std::size_t(packed_size(rank)));
    in.numbers(mean);
    in.numbers(moment);
    if (!std::all_of(mean.begin(), mean.end(), finite) ||
        !std::all_of(moment.begin(), moment.end(), finite))
      return false;
  }
  return true;
}

}  // namespace

std::vector<std::byte> StreamingFactorizer::State::save() const {
  const Layout& layout = window.layout();
  ByteWriter out;
  out.reserve(cell_count(shape) * (sizeof(double) * window.size() + 2) + 65536);
  out.number(std::uint8_t(options.rules));
  out.number(std::int32_t(options.window));
  out.number(std::int32_t(options.max_rank));
  out.number(std::uint32_t(shape.size()));
  out.numbers(std::span<const int>(shape));

  out.number(std::uint8_t(warm));
  out.number(std::int32_t(exponent));
  out.number(std::int64_t(learned));
  out.number(std::int32_t(window.size()));
  for (int k = 0; k < window.size(); ++k) {
    for (std::ptrdiff_t i = 0; i < layout.rows; ++i)
      out.numbers(std::span(window[k].values).subspan(i * layout.stride, layout.columns));
    out.numbers(std::span<const std::uint64_t>(window[k].row_bits));
  }
  out.number(std::int32_t(q.rank));
  out.number(q.tau);
  out.numbers(std::span<const double>(q.lambda.data(), std::size_t(q.rank)));
  for (const FactorRows& mode : q.modes) write_rows(out, mode, mode.rows, q.rank);
  write_rows(out, q.time, window.size(), q.rank);
  for (std::ptrdiff_t i = 0; i < layout.rows; ++i)
    out.numbers(
        std::span<const std::uint8_t>(flagged_runs).subspan(i * layout.stride, layout.columns));
  out.number(std::int64_t(newest_outliers.size()));
  for (const Outlier& outlier : newest_outliers) {
    out.number(outlier.cell);
    out.number(outlier.observed);
    out.number(outlier.sparse.value);
    out.number(outlier.sparse.variance);
  }

  const std::vector<std::byte> body = out.take();
  ByteWriter whole;
  whole.reserve(kHeaderBytes + body.size());
  whole.numbers(std::span<const char>(kMagic));
  whole.number(kVersion);
  whole.number(std::uint64_t(body.size()));
  whole.number(crc64(body));
  whole.numbers(std::span<const std::uint8_t>(reinterpret_cast<const std::uint8_t*>(body.data()),
                                              body.size()));
  return whole.take();
}

std::string StreamingFactorizer::State::load(std::span<const std::byte> body) {
  ByteReader in(body);
  const Layout& layout = window.layout();
  if (in.number<std::uint8_t>() != std::uint8_t(options.rules))
    return "the snapshot was made under other rules";
  if (const int saved = in.number<std::int32_t>(); saved != options.window)
    return "the snapshot has a window of " + std::to_string(saved) + " slices, not " +
           std::to_string(options.window);
  if (const int saved = in.number<std::int32_t>(); saved != options.max_rank)
    return "the snapshot has a max_rank of " + std::to_string(saved) + ", not " +
           std::to_string(options.max_rank);
  if (in.number<std::uint32_t>() != shape.size()) return "the snapshot has other modes";
  SliceShape saved_shape(shape.size());
  in.numbers(std::span<int>(saved_shape));
  if (saved_shape != shape) return "the snapshot has other nodes";

  warm = in.number<std::uint8_t>() != 0;
  exponent = in.number<std::int32_t>();
  learned = in.number<std::int64_t>();
  const int slices = in.number<std::int32_t>();
  if (exponent < -kLargestExponent || exponent > kLargestExponent || learned < 0 ||
      learned > kMostLearned || slices < 0 || slices > window.capacity() || (warm && slices == 0))
    return kContradiction;
  for (int k = 0; k < slices; ++k) {
    WindowSlice& slice = window.staged();
    for (std::ptrdiff_t i = 0; i < layout.rows; ++i)
      in.numbers(std::span(slice.values).subspan(i * layout.stride, layout.columns));
    in.numbers(std::span<std::uint64_t>(slice.row_bits));
    if (!window.derive(slice)) return kContradiction;
    window.commit();
  }
  q.rank = in.number<std::int32_t>();
  q.tau = in.number<double>();
  if (q.rank < 0 || q.rank > options.max_rank || !(q.tau > 0.0) || !std::isfinite(q.tau))
    return kContradiction;
  in.numbers(std::span<double>(q.lambda.data(), std::size_t(q.rank)));
  for (int r = 0; r < q.rank; ++r)
    if (!(q.lambda[r] > 0.0) || !std::isfinite(q.lambda[r])) return kContradiction;
  for (FactorRows& mode : q.modes)
    if (!read_rows(in, mode, mode.rows, q.rank)) return kContradiction;
  if (!read_rows(in, q.time, slices, q.rank)) return kContradiction;
  for (std::ptrdiff_t i = 0; i < layout.rows; ++i)
    in.numbers(std::span<std::uint8_t>(flagged_runs).subspan(i * layout.stride, layout.columns));

  const auto outliers = in.number<std::int64_t>();
  if (outliers < 0 || std::uint64_t(outliers) > cell_count(shape)) return kContradiction;
  for (std::int64_t k = 0; k < outliers; ++k) {
    Outlier outlier{};
    outlier.cell = in.number<std::int64_t>();
    outlier.observed = in.number<double>();
    outlier.sparse.value = in.number<double>();
    outlier.sparse.variance = in.number<double>();
    if (outlier.cell < 0 || std::uint64_t(outlier.cell) >= layout.padded_cells() ||
        outlier.cell % layout.stride >= layout.columns)
      return kContradiction;
    newest_outliers.push_back(outlier);
  }
  return in.finished() ? "" : kContradiction;
}

std::vector<std::byte> StreamingFactorizer::save() const { return state_->save(); }

namespace {

// What stands behind an intact header, or what is wrong with it.
tl::expected<std::span<const std::byte>, std::string> body_of(std::span<const std::byte> bytes) {
  const auto because = [](std::string reason) { return tl::unexpected(std::move(reason)); };
  ByteReader in(bytes);
  char magic[sizeof kMagic];
  in.numbers(std::span<char>(magic));
  if (in.failed() || !std::equal(magic, magic + sizeof magic, kMagic))
    return because("not a snapshot of a factorizer");
  if (const auto version = in.number<std::uint32_t>(); !in.failed() && version != kVersion)
    return because("the snapshot is of version " + std::to_string(version) +
                   ", this program reads " + std::to_string(kVersion));
  const auto length = in.number<std::uint64_t>();
  const auto checksum = in.number<std::uint64_t>();
  if (in.failed() || in.rest().size() != length)
    return because("the snapshot is cut short or too long");
  if (crc64(in.rest()) != checksum)
    return because("the snapshot is damaged: its checksum is wrong");
  return in.rest();
}

}  // namespace

tl::expected<StreamingFactorizer, std::string> StreamingFactorizer::restore(
    std::span<const std::byte> bytes, SliceShape shape, FactorizerOptions options) {
  const auto because = [](std::string reason) { return tl::unexpected(std::move(reason)); };
  if (std::string problem = options.problem(); !problem.empty()) return because(problem);
  if (std::string problem = problem_of(shape); !problem.empty()) return because(problem);
  const auto body = body_of(bytes);
  if (!body) return because(body.error());

  auto state = std::make_unique<State>(std::move(shape), options);
  if (std::string problem = state->load(*body); !problem.empty()) return because(problem);
  state->resume();
  return StreamingFactorizer(std::move(state));
}

tl::expected<StreamingFactorizer, std::string> StreamingFactorizer::restore_rearranged(
    std::span<const std::byte> bytes, SliceShape saved_shape, SliceShape shape,
    const std::vector<std::vector<int>>& from, FactorizerOptions options) {
  const auto because = [](std::string reason) { return tl::unexpected(std::move(reason)); };
  if (std::string problem = problem_of(shape); !problem.empty()) return because(problem);
  const auto saved = restore(bytes, std::move(saved_shape), options);
  if (!saved) return because(saved.error());
  const SliceShape& old = saved->shape();
  if (shape.size() != old.size() || from.size() != old.size())
    return because("the snapshot has other modes");
  for (std::size_t mode = 0; mode < old.size(); ++mode) {
    if (from[mode].size() != std::size_t(shape[mode])) return because("a row without a place");
    for (int row : from[mode])
      if (row < -1 || row >= old[mode]) return because("a row that was not there");
  }
  auto state = std::make_unique<State>(std::move(shape), options);
  state->rearrange(*saved->state_, from);
  state->resume();
  return StreamingFactorizer(std::move(state));
}

}  // namespace outlierd::model
