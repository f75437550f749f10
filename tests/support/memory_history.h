#pragma once
// A history in memory, written for plainness: it filters and sorts everything at each question.
// Answers later, through `post`, as the store does; `broken` makes every answer a failure.

#include <algorithm>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "daemon/api/history.h"

namespace outlierd::test {

class MemoryHistory : public api::History {
 public:
  explicit MemoryHistory(std::function<void(std::function<void()>)> post)
      : post_(std::move(post)) {}

  std::vector<api::EventRecord> all_events;
  std::vector<api::AnomalyRecord> all_anomalies;
  std::vector<api::Silence> all_silences;
  std::vector<api::AuditEntry> all_audit;
  std::vector<std::pair<std::string, api::MatrixRecord>> matrices;  // by network
  std::vector<api::SeriesPoint> points;
  std::vector<api::SlicePoint> slice_points;
  bool broken = false;
  int asked = 0;

  void matrix(const std::string& network, EpochSeconds time, const std::string&,
              api::Done<std::optional<api::MatrixRecord>> done) override {
    std::optional<api::MatrixRecord> found;
    for (const auto& [name, matrix] : matrices)
      if (name == network && matrix.time == time) found = matrix;
    answer(std::move(done), std::move(found));
  }
  void series(const api::SeriesQuery& query,
              api::Done<std::vector<api::SeriesPoint>> done) override {
    std::vector<api::SeriesPoint> found;
    for (const api::SeriesPoint& point : points)
      if (point.time >= query.range.from && point.time < query.range.to) found.push_back(point);
    answer(std::move(done), std::move(found));
  }
  void slices(const api::SlicesQuery& query,
              api::Done<std::vector<api::SlicePoint>> done) override {
    std::vector<api::SlicePoint> found;
    for (const api::SlicePoint& point : slice_points)
      if (point.time >= query.range.from && point.time < query.range.to) found.push_back(point);
    answer(std::move(done), std::move(found));
  }
  void anomalies(const api::AnomalyQuery& query,
                 api::Done<std::vector<api::AnomalyRecord>> done) override {
    std::vector<api::AnomalyRecord> found;
    for (const auto& each : all_anomalies)
      if ((!query.network || each.network == *query.network) &&
          (!query.metric || each.metric == *query.metric) &&
          (!query.origin || each.origin == *query.origin) &&
          (!query.destination || each.destination == *query.destination) &&
          each.score >= query.min_score && each.time >= query.range.from &&
          each.time < query.range.to &&
          (!query.after || api::Place{each.time, each.id} < *query.after))
        found.push_back(each);
    std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) {
      return std::pair(x.time, x.id) > std::pair(y.time, y.id);
    });
    if (found.size() > query.limit) found.resize(query.limit);
    answer(std::move(done), std::move(found));
  }
  void events(const api::EventQuery& query,
              api::Done<std::vector<api::EventRecord>> done) override {
    std::vector<api::EventRecord> found;
    for (const auto& each : all_events)
      if ((!query.network || each.network == *query.network) &&
          (!query.open || each.open == *query.open) &&
          (!query.shape || each.shape == *query.shape) && each.opened >= query.range.from &&
          each.opened < query.range.to &&
          (!query.after || api::Place{each.opened, each.id} < *query.after))
        found.push_back(each);
    std::sort(found.begin(), found.end(), [](const auto& x, const auto& y) {
      return std::pair(x.opened, x.id) > std::pair(y.opened, y.id);
    });
    if (found.size() > query.limit) found.resize(query.limit);
    answer(std::move(done), std::move(found));
  }
  void event(const std::string& id, api::Done<std::optional<api::EventRecord>> done) override {
    std::optional<api::EventRecord> found;
    for (const auto& each : all_events)
      if (each.id == id) found = each;
    answer(std::move(done), std::move(found));
  }
  void acknowledge(const std::string& event, const api::Acknowledgement& acknowledgement,
                   const api::AuditEntry& entry, api::Done<bool> done) override {
    bool known = false;
    for (auto& each : all_events)
      if (each.id == event && !broken) {
        each.acknowledged = acknowledgement;
        known = true;
        all_audit.push_back(entry);
      }
    answer(std::move(done), known);
  }
  void mark(const std::string& event, const api::Feedback& feedback, const api::AuditEntry& entry,
            api::Done<bool> done) override {
    bool known = false;
    for (auto& each : all_events)
      if (each.id == event && !broken) {
        each.feedback = feedback.mark.empty() ? std::nullopt : std::optional(feedback);
        known = true;
        all_audit.push_back(entry);
      }
    answer(std::move(done), known);
  }
  void silences(api::Done<std::vector<api::Silence>> done) override {
    answer(std::move(done), all_silences);
  }
  void add_silence(const api::Silence& silence, const api::AuditEntry& entry,
                   api::Done<bool> done) override {
    all_silences.push_back(silence);
    all_audit.push_back(entry);
    answer(std::move(done), true);
  }
  void expire_silence(const std::string& id, const api::AuditEntry& entry,
                      api::Done<bool> done) override {
    bool ended = false;
    for (auto& each : all_silences)
      if (each.id == id && each.ends > entry.time) {
        each.ends = entry.time;
        ended = true;
        all_audit.push_back(entry);
      }
    answer(std::move(done), ended);
  }
  void audit(std::size_t limit, api::Done<std::vector<api::AuditEntry>> done) override {
    std::vector<api::AuditEntry> newest(all_audit.rbegin(), all_audit.rend());
    if (newest.size() > limit) newest.resize(limit);
    answer(std::move(done), std::move(newest));
  }
  void add_audit(const api::AuditEntry& entry, api::Done<bool> done) override {
    all_audit.push_back(entry);
    answer(std::move(done), true);
  }

 private:
  template <class T>
  void answer(api::Done<T> done, T value) {
    ++asked;
    post_([this, done = std::move(done), value = std::move(value)] {
      if (broken) return done(tl::unexpected<std::string>("the store does not answer"));
      done(value);
    });
  }
  std::function<void(std::function<void()>)> post_;
};

}  // namespace outlierd::test
