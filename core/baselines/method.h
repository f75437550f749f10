#pragma once
// One interface for every way of finding anomalies: slices in, what is expected and how anomalous
// each cell is out. outlierd's own pipeline is one of them, the others are what it is compared
// with.
//
// Causal: a report depends on that slice and earlier ones only. One object, one network, one
// thread; the same slices and options give the same reports. Reads no clock.

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <tl/expected.hpp>
#include <vector>

#include "core/pipeline.h"

namespace outlierd::baselines {

struct MethodOptions {
  PipelineOptions pipeline;
  std::uint64_t seed = 1;  // of the methods that start from random factors
};

class Method {
 public:
  virtual ~Method() = default;

  // As Pipeline::process(). A method that finds no events leaves bands, anomalies and events empty.
  virtual SliceReport process(const Slice& slice, EpochSeconds time, int local_offset) = 0;
  virtual bool finds_events() const { return false; }
  virtual std::vector<Event> open_events() const { return {}; }
};

inline constexpr std::string_view kOwnMethod = "outlierd";
inline constexpr std::string_view kCalibrated = "+calibrated";

struct MethodName {
  std::string name;
  std::string about;     // one line
  bool calibrated_form;  // NAME+calibrated exists too
};
const std::vector<MethodName>& known_methods();
// Every name make_method() takes: outlierd first, then in the order of known_methods(), the
// calibrated form behind the plain one.
std::vector<std::string> method_names();

// The reason if there is no such method, or if it cannot be had with these options.
tl::expected<std::unique_ptr<Method>, std::string> make_method(std::string_view name,
                                                               const Network& network,
                                                               const MethodOptions& options);

}  // namespace outlierd::baselines
