#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "daemon/ctl/picture.h"
#include "daemon/ctl/report.h"

namespace outlierd::ctl {
namespace {

constexpr std::size_t kFirst = 10;  // slices that do not count
constexpr const char* kStyle =
    "body{font:15px/1.5 system-ui,sans-serif;max-width:60rem;margin:2rem auto;padding:0 "
    "1rem;color:#222}h1{font-size:1.6rem}h2{margin-top:2.2rem;font-size:1.25rem}"
    "table{border-collapse:collapse;font-size:.85rem;margin:.8rem 0}"
    "th,td{padding:.2rem .6rem;text-align:right;border-bottom:1px solid #ddd}"
    "th:first-child,td:first-child{text-align:left}svg{width:100%;height:auto}"
    ".t{font:11px sans-serif;fill:#444}.h{font:bold 13px sans-serif}.g{stroke:#e5e5e5}"
    "figure{display:inline-block;margin:.3rem;text-align:center;font-size:.8rem}"
    "figure img{width:165px;image-rendering:pixelated;display:block}"
    ".scroll{overflow-x:auto}code{background:#f3f3f3;padding:0 .2rem}";

std::vector<double> counted(const std::vector<double>& values) {
  std::vector<double> kept;
  for (std::size_t k = kFirst; k < values.size(); ++k)
    if (std::isfinite(values[k])) kept.push_back(values[k]);
  return kept;
}

double median(std::vector<double> values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

double mean(const std::vector<double>& values) {
  double sum = 0.0;
  for (double value : values) sum += value;
  return values.empty() ? std::numeric_limits<double>::quiet_NaN() : sum / double(values.size());
}

// mean / median; an error beyond ten is no reconstruction any more.
std::string pair_of(const std::vector<double>& values) {
  const std::vector<double> kept = counted(values);
  if (kept.empty()) return "-";
  if (median(kept) > 10.0) return "diverges";
  return (mean(kept) > 10.0 ? "&gt; 10" : short_figure(mean(kept))) + " / " +
         short_figure(median(kept));
}

double median_hidden(const std::vector<Series>& list, const std::string& name,
                     const std::string& unit) {
  for (const Series& series : list)
    if (series.name == name && series.unit == unit) return median(counted(series.half.hidden));
  return std::numeric_limits<double>::quiet_NaN();
}

double median_full(const std::vector<Series>& list, const std::string& name,
                   const std::string& unit) {
  for (const Series& series : list)
    if (series.name == name && series.unit == unit) return median(counted(series.full.all));
  return std::numeric_limits<double>::quiet_NaN();
}

std::string row(const std::vector<std::string>& cells, const char* tag = "td") {
  std::string text = "<tr>";
  for (const std::string& cell : cells) text += fmt::format("<{0}>{1}</{0}>", tag, cell);
  return text + "</tr>";
}

std::string html_interval(const evaluate::Estimate& estimate) {
  return fmt::format("{} <small>[{} {}]</small>", short_figure(estimate.mean),
                     short_figure(estimate.low), short_figure(estimate.high));
}

// The unit that suits each method best.
bool is_drawn(const Series& series) {
  const bool wants_deviations = series.name.starts_with("olstec") || series.name == "online-sgd" ||
                                series.name == "online-cp";
  return series.unit == (wants_deviations ? "standard deviations" : "bytes");
}

// Of the nine about t: single slices cross each other beyond telling the lines apart.
double running_median(const std::vector<double>& values, std::size_t t) {
  std::vector<double> about;
  for (std::size_t k = t - std::min<std::size_t>(t, 4); k < std::min(values.size(), t + 5); ++k)
    if (std::isfinite(values[k])) about.push_back(values[k]);
  return median(about);
}

std::string error_chart(const std::vector<Series>& list, const std::string& title, bool half,
                        std::vector<double> SliceErrors::*which) {
  std::vector<ChartLine> lines;
  for (const Series& series : list) {
    if (!is_drawn(series)) continue;
    const std::vector<double>& errors = (half ? series.half : series.full).*which;
    if (errors.empty()) continue;
    ChartLine line{series.name, {}};
    for (std::size_t t = 0; t < errors.size(); ++t)
      line.points.emplace_back(t, running_median(errors, t));
    lines.push_back(std::move(line));
  }
  return svg_chart(
      {title + " (running median of nine slices)", "slice", "|X - L| / |X|", false, 0.0, 1.0},
      lines);
}

std::string error_table(const std::vector<Series>& list) {
  std::string text =
      "<div class=scroll><table>" +
      row({"method", "unit", "all observed", "of it kept cells", "half observed, all cells",
           "half observed, unobserved cells", "µs a slice"},
          "th");
  for (const Series& series : list) {
    const bool sparse = pair_of(series.full.kept) != pair_of(series.full.all);
    text += row({html_text(series.name), series.unit, pair_of(series.full.all),
                 sparse ? pair_of(series.full.kept) : "", pair_of(series.half.all),
                 pair_of(series.half.hidden), fmt::format("{:.0f}", series.full.microseconds)});
  }
  return text + "</table></div>";
}

std::string network_section(const ReportParts& parts) {
  if (parts.factorizations.empty()) return {};
  std::string text =
      "<h2>A week of Abilene: error a slice</h2><p>The paper's two network figures: "
      "reconstruction after learning the slice, rank 10, window 20, forgetting .98. Each method in "
      "the unit that suits it; the table has them all. Mean / median after ten slices.</p>";
  text += error_chart(parts.factorizations, "All observed", false, &SliceErrors::all);
  text += error_chart(parts.factorizations, "Half observed, all cells", true, &SliceErrors::all);
  text += error_chart(parts.factorizations, "Half observed, the cells nobody saw", true,
                      &SliceErrors::hidden);
  text += error_table(parts.factorizations);
  text +=
      "<h2>What the whole detector expects of cells it does not see</h2><p>Half observed, the "
      "expected value before the slice is learned, against simple predictors.</p><table>" +
      row({"method", "unobserved cells, mean / median", "µs a slice"}, "th");
  for (const Series& series : parts.expectations)
    text += row({html_text(series.name), pair_of(series.half.hidden),
                 fmt::format("{:.0f}", series.half.microseconds)});
  text += "</table><h2>Rank over time</h2>";
  std::vector<ChartLine> lines;
  for (const Series& series : parts.factorizations)
    if (series.name.starts_with("outlierd") && series.unit == "bytes")
      for (const bool half : {false, true}) {
        ChartLine line{(series.name == "outlierd" ? "sparse on, " : "sparse off, ") +
                           std::string(half ? "half" : "all observed"),
                       {}};
        const SliceErrors& errors = half ? series.half : series.full;
        for (std::size_t t = 0; t < errors.rank.size(); ++t)
          line.points.emplace_back(t, errors.rank[t]);
        lines.push_back(std::move(line));
      }
  return text + svg_chart({"Components in use, at most 10", "slice", "rank"}, lines);
}

std::string phantom_section(const ReportParts& parts) {
  const evaluate::PhantomOptions options;
  const std::vector<double> truth = evaluate::phantom_frame(options, kPhantomFrames - 1);
  const Slice seen = evaluate::observe(options, kPhantomFrames - 1, truth);
  const auto figure = [&](const std::vector<double>& picture, const std::string& caption) {
    return fmt::format("<figure><img alt='{0}' src='{1}'><figcaption>{0}</figcaption></figure>",
                       caption, grey_png_url(picture, options.size, options.size));
  };
  std::string text = fmt::format(
      "<h2>Dynamic MRI, on a phantom</h2><p>{0} x {0} pixels of a generated beating and breathing "
      "chest, {1:.0f}% observed with noise of {2:g} and {3:.1f}% of those corrupted; rank at most "
      "15, window 20, forgetting .98. Error over all pixels against the picture without noise; "
      "below, frame {4}. olstec and online-sgd in the unit, of four, that suits them best.</p>",
      options.size, 100.0 * options.observed, options.noise, 100.0 * options.corrupted,
      kPhantomFrames - 1);
  text += figure(truth, "truth") + figure(seen.values, "observed");
  std::vector<ChartLine> lines;
  std::string table = "<table>" + row({"method", "error, mean / median", "ms a frame"}, "th");
  for (const auto& [name, run] : parts.phantom) {
    text += figure(run.picture, name);
    ChartLine line{name, {}};
    for (std::size_t t = 0; t < run.errors.size(); ++t) line.points.emplace_back(t, run.errors[t]);
    lines.push_back(std::move(line));
    table += row({name, pair_of(run.errors), fmt::format("{:.1f}", run.microseconds / 1000.0)});
  }
  return text + table + "</table>" +
         svg_chart({"Error a frame", "frame", "|X - L| / |X|", false, 0.0, 1.0}, lines);
}

std::string recall_chart(const ProfileFigures& profile) {
  std::vector<std::size_t> order(kBudgets.size());
  for (std::size_t k = 0; k < order.size(); ++k) order[k] = k;
  std::sort(order.begin(), order.end(),
            [](std::size_t a, std::size_t b) { return kBudgets[a] < kBudgets[b]; });
  std::vector<ChartLine> lines;
  for (const MethodFigures& method : profile.methods) {
    ChartLine line{method.method, {}};
    for (std::size_t k : order) line.points.emplace_back(kBudgets[k], method.recall[k].mean);
    lines.push_back(std::move(line));
  }
  return svg_chart(
      {profile.profile + ": recall against alarms a day", "alarms a day", "recall", true, 0.0, 1.0},
      lines);
}

std::string detection_table(const ProfileFigures& profile) {
  std::string text = fmt::format("<h3>{}: {} events of {} sets</h3><div class=scroll><table>",
                                 profile.profile, profile.events, profile.sets);
  text +=
      row({"method", "at 1 a day", "at 3", "at 10", "AUC", "delay", "shapes right", "µs a slice"},
          "th");
  for (const MethodFigures& each : profile.methods)
    text += row({each.method, html_interval(each.recall[0]), html_interval(each.recall[1]),
                 html_interval(each.recall[2]), html_interval(each.auc),
                 each.delay ? std::to_string(*each.delay) : "-",
                 each.finds_events ? fmt::format("{}/{}", each.named_rightly, each.reported) : "-",
                 fmt::format("{:.0f}", each.microseconds)});
  text += "</table></div>";
  if (profile.methods.size() < 2) return text;
  text += fmt::format("<p>{} minus each, on the same events:</p><div class=scroll><table>",
                      profile.methods.front().method);
  text += row({"method", "at 1 a day", "at 3", "at 10", "AUC"}, "th");
  for (std::size_t k = 1; k < profile.methods.size(); ++k) {
    const MethodFigures& each = profile.methods[k];
    text += row({each.method, html_interval(each.recall_behind[0]),
                 html_interval(each.recall_behind[1]), html_interval(each.recall_behind[2]),
                 html_interval(each.auc_behind)});
  }
  return text + "</table></div>";
}

std::string detection_section(const ReportParts& parts) {
  if (parts.detection.empty()) return {};
  std::string text =
      "<h2>Detection</h2><p>Injected anomalies, events of all sets pooled; recall at the threshold "
      "that costs so many alarms a day on the clean twin; 95% bootstrap intervals over events. "
      "Delay: "
      "median bins at three alarms a day, abrupt kinds.</p>";
  for (const ProfileFigures& profile : parts.detection)
    text += detection_table(profile) + recall_chart(profile);
  return text;
}

std::string ablation_section(const ReportParts& parts) {
  std::string text = "<h2>Ablations</h2>";
  if (!parts.ablations.empty())
    text += "<p>Of the factorizer, on the Abilene week.</p>" + error_table(parts.ablations);
  if (!parts.detection_ablations.empty()) text += "<p>Of the detector, on the injected sets.</p>";
  for (const ProfileFigures& profile : parts.detection_ablations) text += detection_table(profile);
  return text;
}

// What it is good for and what not, in the figures of this run.
std::string verdict(const ReportParts& parts) {
  const std::vector<Series>& list = parts.factorizations;
  const std::string deviations = "standard deviations";
  std::string text = "<h2>What the factorization is good for, and what not</h2><p>";
  if (!list.empty())
    text += fmt::format(
        "It fills in cells nobody saw from those that were seen: with half of the week hidden, the "
        "median error of the hidden cells is {} on x and {} on x^(1/4) "
        "(olstec {} in standard deviations, {} in bytes; online-sgd {}; the printed rules in bytes "
        "{}). All observed it follows the data to {}. Where the past "
        "of the cell itself is known, that past says more: an EWMA of the pair alone is at {}, and "
        "what the detector expects, level, profile and low-rank part together, at {}. ",
        short_figure(median_hidden(list, "outlierd", "bytes")),
        short_figure(median_hidden(list, "outlierd, on x^(1/4)", "bytes")),
        short_figure(median_hidden(list, "olstec", deviations)),
        short_figure(median_hidden(list, "olstec", "bytes")),
        short_figure(median_hidden(list, "online-sgd", deviations)),
        short_figure(median_hidden(list, "brst-paper", "bytes")),
        short_figure(median_full(list, "outlierd, sparse part off", "bytes")),
        short_figure(median_hidden(parts.expectations, "ewma-linear", "bytes")),
        short_figure(median_hidden(parts.expectations, "outlierd", "bytes")));
  if (parts.phantom.contains("outlierd") && parts.phantom.contains("olstec") &&
      parts.phantom.contains("online-sgd"))
    text += fmt::format(
        "Of a moving picture of which 15% is seen it restores the rest to {} (olstec {}, "
        "online-sgd "
        "{}). ",
        short_figure(median(counted(parts.phantom.at("outlierd").errors))),
        short_figure(median(counted(parts.phantom.at("olstec").errors))),
        short_figure(median(counted(parts.phantom.at("online-sgd").errors))));
  for (const ProfileFigures& profile : parts.detection) {
    const auto find = [&](const std::string& name) -> const MethodFigures* {
      for (const MethodFigures& each : profile.methods)
        if (each.method == name) return &each;
      return nullptr;
    };
    const MethodFigures *own = find("outlierd"), *paper = find("brst-paper"),
                        *simple = find("ewma+calibrated");
    if (!own || !paper || !simple) continue;
    text += fmt::format(
        "It is no detector by itself: of the {} anomalies, at three alarms a day, the printed "
        "model's "
        "sparse part finds {}, a simple EWMA with our calibration {}, the whole detector {}; what "
        "the "
        "factorization brings inside it is among the ablations. ",
        profile.profile, short_figure(paper->recall[1].mean), short_figure(simple->recall[1].mean),
        short_figure(own->recall[1].mean));
  }
  return text + "</p>";
}

}  // namespace

std::string report_html(const ReportOptions& options, const ReportParts& parts) {
  return fmt::format(
             "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport "
             "content='width=device-width'><title>outlierd: the comparison</title><style>{}</style>"
             "<h1>outlierd: the comparison</h1><p>{}. Made by <code>{}</code></p>",
             kStyle, html_text(options.date), html_text(options.command)) +
         verdict(parts) + network_section(parts) + phantom_section(parts) +
         detection_section(parts) + ablation_section(parts) + "</html>\n";
}

}  // namespace outlierd::ctl
