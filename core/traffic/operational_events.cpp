#include "core/traffic/operational_events.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include "core/byte_stream.h"
#include "core/traffic/address_text.h"

namespace outlierd {
namespace {

struct Span {
  ExporterNews begun, over;
};
constexpr std::array kSpans = {Span{ExporterNews::kSilent, ExporterNews::kBack},
                               Span{ExporterNews::kLosing, ExporterNews::kComplete},
                               Span{ExporterNews::kClockOff, ExporterNews::kClockRight},
                               Span{ExporterNews::kUnmapped, ExporterNews::kMapped},
                               Span{ExporterNews::kUnknownRate, ExporterNews::kKnownRate}};

std::string number(const char* format, double value) {
  std::array<char, 64> text;
  return {text.data(), std::size_t(std::snprintf(text.data(), text.size(), format, value))};
}

std::string duration(double seconds) {
  if (seconds >= 172'800.0) return number("%.0f days", seconds / 86'400.0);
  if (seconds >= 7200.0) return number("%.0f hours", seconds / 3600.0);
  if (seconds >= 600.0) return number("%.0f minutes", seconds / 60.0);
  return number("%.0f s", seconds);
}

std::string percent(double share) {
  return share > 0.0 && share < 0.01 ? "less than 1%" : number("%.0f%%", 100.0 * share);
}

std::string entering_at(const std::vector<std::string>& nodes) {
  if (nodes.empty()) return "what it would report";
  constexpr std::size_t kNamed = 3;
  std::string text = "what enters at ";
  for (std::size_t k = 0; k < std::min(kNamed, nodes.size()); ++k)
    text += (k > 0 ? ", " : "") + nodes[k];
  if (nodes.size() > kNamed) text += " and " + std::to_string(nodes.size() - kNamed) + " more";
  return text;
}

std::string summary_of(const ExporterNotice& notice, const std::vector<std::string>& nodes) {
  const std::string who = notice.exporter.family == 0 ? "exporters beyond the limit"
                                                      : "exporter " + address_text(notice.exporter);
  switch (notice.news) {
    case ExporterNews::kSilent:
      return who + " is silent: " + entering_at(nodes) + " is not observed";
    case ExporterNews::kLosing:
      return percent(notice.figure) + " of the records of " + who +
             " are lost on the way: " + entering_at(nodes) + " is not observed";
    case ExporterNews::kClockOff:
      return "the clock of " + who + " is " + duration(std::abs(notice.figure)) + " " +
             (notice.figure > 0.0 ? "ahead" : "behind");
    case ExporterNews::kUnmapped:
      return percent(notice.figure) + " of the bytes of " + who + " belong to no pair of nodes";
    case ExporterNews::kUnknownRate:
      return percent(notice.figure) + " of the records of " + who +
             " are left out: nobody says their sampling rate";
    default:
      return who;
  }
}

std::string id_of(const OperationalEvent& event) {
  const std::string text = event.network + '\n' + event.kind + '\n' + event.exporter + '\n' +
                           std::to_string(event.opened);
  std::array<char, 24> id;
  std::snprintf(id.data(), id.size(), "op-%016llx",
                static_cast<unsigned long long>(crc64(std::as_bytes(std::span(text)))));
  return id.data();
}

}  // namespace

const std::vector<std::string>& OperationalEvents::kinds() {
  static const std::vector<std::string> all = [] {
    std::vector<std::string> names;
    for (const Span& span : kSpans) names.emplace_back(name_of(span.begun));
    return names;
  }();
  return all;
}

std::vector<OperationalEvent> OperationalEvents::note(const ExporterNotice& notice,
                                                      const std::vector<std::string>& nodes,
                                                      EpochSeconds now) {
  std::vector<OperationalEvent> changed;
  const std::string exporter = address_text(notice.exporter);
  for (const Span& span : kSpans) {
    const bool begun = notice.news == span.begun;
    const bool over = notice.news == span.over || notice.news == ExporterNews::kForgotten;
    if (!begun && !over) continue;
    const char* kind = name_of(span.begun);
    const auto open = std::find_if(events_.begin(), events_.end(), [&](const auto& one) {
      return !one.closed && one.kind == kind && one.exporter == exporter;
    });
    if (over && open != events_.end()) {
      open->closed = now;
      changed.push_back(*open);
    }
    if (!begun || open != events_.end()) continue;
    if (events_.size() >= most_) {
      const auto oldest = std::find_if(events_.begin(), events_.end(),
                                       [](const auto& one) { return one.closed.has_value(); });
      if (oldest == events_.end()) continue;  // the metrics count the rest
      events_.erase(oldest);
    }
    OperationalEvent event{.id = {},
                           .network = network_,
                           .kind = kind,
                           .exporter = exporter,
                           .summary = summary_of(notice, nodes),
                           .figure = notice.figure,
                           .opened = now,
                           .closed = {}};
    event.id = id_of(event);
    events_.push_back(event);
    changed.push_back(std::move(event));
  }
  return changed;
}

}  // namespace outlierd
