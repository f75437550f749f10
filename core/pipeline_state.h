#pragma once
// What a Pipeline holds. Internal: pipeline.cpp runs a slice through it, pipeline_snapshot.cpp
// turns it into bytes.

#include "core/detect/alarm_threshold.h"
#include "core/detect/detector.h"
#include "core/detect/event_tracker.h"
#include "core/detect/news.h"
#include "core/detect/sigma.h"
#include "core/pipeline.h"

namespace outlierd {

inline constexpr double kLargestVolume = 1e30;  // its sums stay well within a float

class Pipeline::State {
 public:
  State(Network watched, PipelineOptions chosen);

  SliceReport process(const Slice& slice, EpochSeconds time, int local_offset);
  void exchange(detect::StateStream& stream);

  const Network network;
  const PipelineOptions options;
  EpochSeconds last_time = std::numeric_limits<EpochSeconds>::min();
  detect::Detector detector;
  detect::News news;
  detect::AlarmThreshold threshold;
  detect::EventTracker events;

 private:
  void take(const Slice& slice);
  void fill_scores(const detect::CellScores& scores, SliceReport& report);
  void fill_bands(const detect::CellScores& scores, SliceReport& report);
  void make_columns(SliceReport& report);
  void widen(std::size_t cell, SliceReport& report) const;
  void learn_news();
  template <class At>
  void agree_at(At at, std::span<const float> own_tail, float quiet, SliceReport& report) const;
  void agree(std::size_t cell, float own, SliceReport& report) const;
  void track(SliceReport& report);

  struct Scored {  // in a part of the cells
    std::vector<std::uint32_t> flagged, held;
    float peak = 0.0f;
    std::size_t cells = 0;
  };

  // Of the slice at hand.
  Slice measured;
  std::vector<Scored> parts;
  std::vector<float> score;                  // in sigmas, before it is weighed by its news
  std::vector<std::uint32_t> flagged, held;  // over the threshold; so before they are weighed
  float peak = 0.0f;
  std::size_t scored_cells = 0;
};

}  // namespace outlierd
