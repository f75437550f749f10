#include "daemon/models.h"

#include <algorithm>
#include <stdexcept>
#include <thread>

#include "core/byte_stream.h"
#include "daemon/ingest/journal_record.h"

namespace outlierd {
namespace {

constexpr int kManyNodes = 200;  // from here on several threads help one slice

PipelineOptions options_of(const config::NetworkConfig& settings) {
  PipelineOptions options = config::pipeline_options_of(settings);
  if (int(settings.nodes.size()) >= kManyNodes)
    options.model.threads = int(std::clamp(std::thread::hardware_concurrency(), 1u, 8u));
  return options;
}

config::TimeZone zone_of(const std::string& name) {
  auto zone = config::TimeZone::load(name);
  if (!zone) throw std::runtime_error("time zone " + name + ": " + zone.error());
  return std::move(*zone);
}

// What a method has not to say is unknown, in every cell.
SliceReport filled(SliceReport report, std::size_t cells) {
  for (auto* column : {&report.observed, &report.expected, &report.low, &report.high,
                       &report.sparse, &report.score})
    if (column->empty()) column->assign(cells, std::numeric_limits<float>::quiet_NaN());
  return report;
}

}  // namespace

Model::Model(const config::NetworkConfig& settings)
    : network_(std::make_shared<const Network>(config::network_of(settings))),
      options_(options_of(settings)),
      time_zone_(zone_of(settings.time_zone)) {
  if (settings.detection.method == baselines::kOwnMethod) {
    own_.emplace(*network_, options_);
    return;
  }
  auto made = baselines::make_method(settings.detection.method, *network_, {.pipeline = options_});
  if (!made) throw std::runtime_error("network " + settings.name + ": " + made.error());
  other_ = std::move(*made);
}

Model::Processed Model::process(const ClosedBin& bin) {
  if (bin.time <= last_time_) return {};
  const auto begin = std::chrono::steady_clock::now();
  const int offset = time_zone_.offset_at(bin.time);
  SliceReport report =
      own_ ? own_->process(bin.slice, bin.time, offset)
           : filled(other_->process(bin.slice, bin.time, offset), bin.slice.values.size());
  last_time_ = bin.time;
  return {std::make_shared<const SliceReport>(std::move(report)),
          std::chrono::steady_clock::now() - begin};
}

std::vector<Event> Model::pending_events() const {
  return own_ ? own_->pending_events() : std::vector<Event>();
}

std::vector<std::byte> Model::save(const BinAssembler::Memory& memory) const {
  const std::vector<std::byte> remembered = ingest::encode_memory(memory);
  const std::vector<std::byte> state = own_ ? own_->save() : std::vector<std::byte>();
  ByteWriter out;
  out.reserve(8 + remembered.size() + state.size());
  out.number(std::uint64_t(remembered.size()));
  for (const auto* part : {&remembered, &state})
    out.numbers(std::span(reinterpret_cast<const std::uint8_t*>(part->data()), part->size()));
  return out.take();
}

tl::expected<BinAssembler::Memory, std::string> Model::restore(std::span<const std::byte> state) {
  ByteReader in(state);
  const auto size = in.number<std::uint64_t>();
  if (in.failed() || size > in.rest().size()) return tl::unexpected(std::string("it is cut short"));
  auto memory = ingest::decode_memory(in.rest().first(size));
  if (!memory) return tl::unexpected(std::string("its record of closed bins cannot be read"));
  const std::span<const std::byte> of_model = in.rest().subspan(size);
  if (!own_ || of_model.empty()) return std::move(*memory);  // one of them is another method's
  auto pipeline = Pipeline::restore(of_model, *network_, options_);
  if (!pipeline) return tl::unexpected(pipeline.error());
  own_ = std::move(*pipeline);
  last_time_ = own_->last_time();
  return std::move(*memory);
}

}  // namespace outlierd
