#pragma once
// The Prometheus text format. Every metric is declared once in kMetrics, which docs/metrics.md is
// checked against; a sample of a metric that is not declared is a logic error.

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <utility>

namespace outlierd {

struct MetricDeclaration {
  std::string_view name, type, help;
};
std::span<const MetricDeclaration> metric_declarations();

class MetricsText {
 public:
  using Labels = std::initializer_list<std::pair<std::string_view, std::string_view>>;

  // Samples of one metric follow each other.
  void add(std::string_view metric, double value, Labels labels = {});
  // suffix: "_bucket", "_sum", "_count" of a histogram.
  void add_part(std::string_view metric, std::string_view suffix, double value, Labels labels = {});
  std::string take() { return std::move(text_); }

 private:
  std::string text_;
  std::string current_;
};

}  // namespace outlierd
