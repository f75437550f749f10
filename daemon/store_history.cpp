#include "daemon/store_history.h"

#include <algorithm>
#include <boost/asio/post.hpp>
#include <optional>
#include <utility>

#include "daemon/api/json_names.h"
#include "daemon/store/backup.h"
#include "daemon/store/cursor.h"
#include "daemon/store/reader.h"

namespace outlierd {
namespace {

using store::StoreError;

constexpr std::size_t kMostQuestions = 1000;  // waiting for the query thread
constexpr EpochSeconds kForever = std::numeric_limits<EpochSeconds>::max();

std::optional<EpochSeconds> lower(const api::TimeRange& range) {
  return range.from == api::TimeRange{}.from ? std::nullopt : std::optional(range.from);
}
std::optional<EpochSeconds> upper(const api::TimeRange& range) {
  return range.to == api::TimeRange{}.to ? std::nullopt : std::optional(range.to);
}

api::EventRecord record_of(const store::StoredEvent& stored) {
  api::EventRecord record{stored.id,           stored.network,
                          stored.open,         stored.shape,
                          stored.up,           stored.summary,
                          stored.opened,       stored.updated,
                          stored.closed,       stored.peak_score,
                          stored.excess,       stored.origins,
                          stored.destinations, {},
                          std::nullopt,        std::nullopt};
  record.since = stored.since;
  for (const store::StoredEventCell& cell : stored.cells)
    record.cells.push_back(
        {cell.origin, cell.destination, cell.metric, cell.observed, cell.expected, cell.score});
  if (stored.acknowledged)
    record.acknowledged = api::Acknowledgement{stored.acknowledged->by, stored.acknowledged->note,
                                               stored.acknowledged->time};
  if (stored.feedback)
    record.feedback = api::Feedback{stored.feedback->mark, stored.feedback->by,
                                    stored.feedback->note, stored.feedback->time};
  return record;
}

api::AnomalyRecord record_of(const store::StoredAnomaly& stored) {
  return {api::anomaly_id(stored.network, stored.time, stored.metric, stored.origin,
                          stored.destination),
          stored.network,
          stored.time,
          stored.metric,
          stored.origin,
          stored.destination,
          stored.observed,
          stored.expected,
          stored.low,
          stored.high,
          stored.sparse,
          stored.score,
          stored.up,
          stored.event};
}

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

api::Silence record_of(const store::Silence& stored) {
  api::Silence silence;
  silence.id = stored.id;
  silence.network = unless_empty(stored.network);
  silence.origin = unless_empty(stored.origin);
  silence.destination = unless_empty(stored.destination);
  silence.node = unless_empty(stored.node);
  if (!stored.shape.empty()) silence.shape = shape_named(stored.shape);
  silence.starts = stored.starts;
  silence.ends = stored.expired ? std::min(*stored.expired, stored.ends) : stored.ends;
  silence.comment = stored.comment;
  silence.created_by = stored.author;
  silence.created = stored.created;
  return silence;
}

api::MatrixRecord matrix_of(const store::StoredSlice& slice, std::size_t metric) {
  api::MatrixRecord record;
  record.time = slice.time;
  record.nodes = slice.network.nodes;
  const std::size_t metrics = slice.network.metrics.size();
  const auto pick = [&](const std::vector<float>& from, std::vector<float>& to) {
    for (std::size_t cell = metric; cell < from.size(); cell += metrics) to.push_back(from[cell]);
  };
  pick(slice.observed, record.observed);
  pick(slice.expected, record.expected);
  pick(slice.low, record.low);
  pick(slice.high, record.high);
  pick(slice.sparse, record.sparse);
  pick(slice.score, record.score);
  return record;
}

}  // namespace

// Lives on the query thread.
class StoreHistory::Queries {
 public:
  explicit Queries(std::filesystem::path path) : path_(std::move(path)) {}

  store::Outcome<std::optional<api::MatrixRecord>> matrix(const std::string& network,
                                                          EpochSeconds time,
                                                          const std::string& metric) {
    return with([&](store::Reader& reader) -> store::Outcome<std::optional<api::MatrixRecord>> {
      const auto slice = reader.matrix(network, time);
      if (!slice) return nothing_if_not_found<api::MatrixRecord>(slice.error());
      const auto& metrics = slice->network.metrics;
      const auto found = std::find(metrics.begin(), metrics.end(), metric);
      if (found == metrics.end()) return std::nullopt;
      return matrix_of(*slice, std::size_t(found - metrics.begin()));
    });
  }

  store::Outcome<std::vector<api::SeriesPoint>> series(const api::SeriesQuery& query) {
    return with([&](store::Reader& reader) -> store::Outcome<std::vector<api::SeriesPoint>> {
      const auto series = reader.series({query.network, query.origin, query.destination,
                                         query.metric, lower(query.range), upper(query.range)});
      std::vector<api::SeriesPoint> points;
      if (!series && series.error().kind == StoreError::Kind::kNotFound) return points;
      if (!series) return tl::unexpected(series.error());
      for (const store::SeriesPoint& at : series->points)
        points.push_back({at.time, at.observed, at.expected, at.low, at.high, at.score});
      return points;
    });
  }

  store::Outcome<std::vector<api::SlicePoint>> slices(const api::SlicesQuery& query) {
    return with([&](store::Reader& reader) -> store::Outcome<std::vector<api::SlicePoint>> {
      const auto read =
          reader.slices(query.network, query.metric, query.range.from, query.range.to);
      if (!read) return tl::unexpected(read.error());
      std::vector<api::SlicePoint> points;
      for (const store::SlicePoint& one : *read)
        points.push_back({one.time, one.total, one.threshold, one.noise_precision, one.open_events,
                          one.rank, one.iterations});
      return points;
    });
  }

  // The store pages by keys of its own: whole bins are read and sorted as the API wants them.
  store::Outcome<std::vector<api::AnomalyRecord>> anomalies(const api::AnomalyQuery& query) {
    return with([&](store::Reader& reader) -> store::Outcome<std::vector<api::AnomalyRecord>> {
      store::AnomalyFilter filter{query.network,      query.origin,       query.destination,
                                  lower(query.range), upper(query.range), query.min_score};
      if (query.after && query.after->time < filter.to.value_or(kForever))
        filter.to = query.after->time + 1;
      std::vector<api::AnomalyRecord> found;
      store::PageRequest page{store::kMostItems, ""};
      while (true) {
        const auto read = reader.anomalies(filter, page);
        if (!read) return tl::unexpected(read.error());
        for (const store::StoredAnomaly& one : read->items) {
          if (found.size() > query.limit && one.time < found.back().time) return cut(found, query);
          api::AnomalyRecord record = record_of(one);
          const bool wanted = (!query.metric || record.metric == *query.metric) &&
                              (!query.after || api::Place{record.time, record.id} < *query.after);
          if (wanted) found.push_back(std::move(record));
        }
        if (!read->next) return cut(found, query);
        page.cursor = *read->next;
      }
    });
  }

  store::Outcome<std::vector<api::EventRecord>> events(const api::EventQuery& query) {
    return with([&](store::Reader& reader) -> store::Outcome<std::vector<api::EventRecord>> {
      const store::EventFilter filter{query.network, query.open, query.shape, lower(query.range),
                                      upper(query.range)};
      store::PageRequest page{int(std::min<std::size_t>(query.limit + 1, store::kMostItems)), ""};
      if (query.after)
        page.cursor = store::make_cursor('e', {std::to_string(query.after->time), query.after->id});
      std::vector<api::EventRecord> found;
      while (found.size() <= query.limit) {
        const auto read = reader.events(filter, page);
        if (!read) return tl::unexpected(read.error());
        for (const store::StoredEvent& one : read->items)
          if (one.opened >= query.range.from) found.push_back(record_of(one));
        if (!read->next) break;
        page.cursor = *read->next;
      }
      return found;
    });
  }

  store::Outcome<std::optional<api::EventRecord>> event(const std::string& id) {
    return with([&](store::Reader& reader) -> store::Outcome<std::optional<api::EventRecord>> {
      const auto read = reader.event(id);
      if (!read) return nothing_if_not_found<api::EventRecord>(read.error());
      return record_of(*read);
    });
  }

  store::Outcome<std::vector<api::Silence>> silences() {
    return with([&](store::Reader& reader) -> store::Outcome<std::vector<api::Silence>> {
      std::vector<api::Silence> found;
      store::PageRequest page{store::kMostItems, ""};
      while (true) {
        const auto read = reader.silences(std::nullopt, page);
        if (!read) return tl::unexpected(read.error());
        for (const store::Silence& one : read->items) found.push_back(record_of(one));
        if (!read->next) return found;
        page.cursor = *read->next;
      }
    });
  }

  store::Outcome<std::vector<api::AuditEntry>> audit(std::size_t limit) {
    return with([&](store::Reader& reader) -> store::Outcome<std::vector<api::AuditEntry>> {
      const auto read = reader.audit({int(std::min<std::size_t>(limit, store::kMostItems)), ""});
      if (!read) return tl::unexpected(read.error());
      std::vector<api::AuditEntry> found;
      for (const store::AuditEntry& one : read->items)
        found.push_back({one.time, one.who, one.action, one.target, one.details});
      return found;
    });
  }

  std::vector<std::pair<Network, SliceReport>> newest(const std::vector<std::string>& networks) {
    std::vector<std::pair<Network, SliceReport>> found;
    const auto read = with([&](store::Reader& reader) -> store::Outcome<bool> {
      for (const std::string& network : networks) {
        auto slice = reader.matrix(network, std::nullopt);
        if (!slice) continue;
        SliceReport report;
        report.time = slice->time;
        report.warmup = slice->warmup;
        report.threshold = slice->threshold;
        report.open_events = slice->open_events;
        report.model = slice->model;
        report.observed = std::move(slice->observed);
        report.expected = std::move(slice->expected);
        report.low = std::move(slice->low);
        report.high = std::move(slice->high);
        report.sparse = std::move(slice->sparse);
        report.score = std::move(slice->score);
        found.emplace_back(slice->network, std::move(report));
      }
      return true;
    });
    static_cast<void>(read);  // without it the API says less until the next slice
    return found;
  }

 private:
  template <class T>
  static store::Outcome<std::optional<T>> nothing_if_not_found(const StoreError& error) {
    if (error.kind == StoreError::Kind::kNotFound) return std::nullopt;
    return tl::unexpected(error);
  }

  static std::vector<api::AnomalyRecord> cut(std::vector<api::AnomalyRecord>& found,
                                             const api::AnomalyQuery& query) {
    std::sort(found.begin(), found.end(), [](const auto& a, const auto& b) {
      return api::Place{a.time, a.id} > api::Place{b.time, b.id};
    });
    if (found.size() > query.limit + 1) found.resize(query.limit + 1);
    return std::move(found);
  }

  template <class Ask>
  auto with(const Ask& ask) -> decltype(ask(std::declval<store::Reader&>())) {
    if (!reader_) {
      auto opened = store::Reader::open(path_);
      if (!opened) return tl::unexpected(opened.error());
      reader_ = std::move(*opened);
    }
    return ask(*reader_);
  }

  std::filesystem::path path_;
  std::optional<store::Reader> reader_;
};

StoreHistory::StoreHistory(boost::asio::any_io_executor network,
                           std::filesystem::path database_path,
                           std::function<store::Store&()> database, worker::DiskThread& disk)
    : network_(std::move(network)),
      database_(std::move(database)),
      disk_(disk),
      queries_(std::make_unique<Queries>(database_path)),
      database_path_(std::move(database_path)),
      query_thread_(1, 1, kMostQuestions),
      backup_thread_(1, 1, 2) {}
StoreHistory::~StoreHistory() = default;

template <class T, class Ask>
void StoreHistory::ask(api::Done<T> done, Ask ask) {
  auto shared = std::make_shared<api::Done<T>>(std::move(done));
  const bool taken = query_thread_.offer(0, [this, shared, ask = std::move(ask)] {
    store::Outcome<T> outcome = ask(*queries_);
    boost::asio::post(network_, [shared, outcome = std::move(outcome)]() mutable {
      if (outcome) {
        (*shared)(std::move(*outcome));
      } else {
        (*shared)(tl::unexpected(outcome.error().message));
      }
    });
  });
  if (!taken)
    boost::asio::post(network_, [shared] {
      (*shared)(tl::unexpected(std::string("too many questions wait for the store")));
    });
}

template <class Act>
void StoreHistory::act(api::Done<bool> done, Act act) {
  disk_.run([this, done = std::move(done), act = std::move(act)] {
    const store::Outcome<void> outcome = act(database_());
    boost::asio::post(network_, [done, outcome] {
      if (outcome) {
        done(true);
      } else if (outcome.error().kind == StoreError::Kind::kNotFound) {
        done(false);
      } else {
        done(tl::unexpected(outcome.error().message));
      }
    });
  });
}

void StoreHistory::matrix(const std::string& network, EpochSeconds time, const std::string& metric,
                          api::Done<std::optional<api::MatrixRecord>> done) {
  ask<std::optional<api::MatrixRecord>>(
      std::move(done), [=](Queries& queries) { return queries.matrix(network, time, metric); });
}
void StoreHistory::series(const api::SeriesQuery& query,
                          api::Done<std::vector<api::SeriesPoint>> done) {
  ask<std::vector<api::SeriesPoint>>(std::move(done),
                                     [=](Queries& queries) { return queries.series(query); });
}
void StoreHistory::slices(const api::SlicesQuery& query,
                          api::Done<std::vector<api::SlicePoint>> done) {
  ask<std::vector<api::SlicePoint>>(std::move(done),
                                    [=](Queries& queries) { return queries.slices(query); });
}
void StoreHistory::anomalies(const api::AnomalyQuery& query,
                             api::Done<std::vector<api::AnomalyRecord>> done) {
  ask<std::vector<api::AnomalyRecord>>(std::move(done),
                                       [=](Queries& queries) { return queries.anomalies(query); });
}
void StoreHistory::events(const api::EventQuery& query,
                          api::Done<std::vector<api::EventRecord>> done) {
  ask<std::vector<api::EventRecord>>(std::move(done),
                                     [=](Queries& queries) { return queries.events(query); });
}
void StoreHistory::event(const std::string& id, api::Done<std::optional<api::EventRecord>> done) {
  ask<std::optional<api::EventRecord>>(std::move(done),
                                       [=](Queries& queries) { return queries.event(id); });
}
void StoreHistory::silences(api::Done<std::vector<api::Silence>> done) {
  ask<std::vector<api::Silence>>(std::move(done),
                                 [](Queries& queries) { return queries.silences(); });
}
void StoreHistory::audit(std::size_t limit, api::Done<std::vector<api::AuditEntry>> done) {
  ask<std::vector<api::AuditEntry>>(std::move(done),
                                    [=](Queries& queries) { return queries.audit(limit); });
}

void StoreHistory::acknowledge(const std::string& event,
                               const api::Acknowledgement& acknowledgement, const api::AuditEntry&,
                               api::Done<bool> done) {
  act(std::move(done), [=](store::Store& database) {
    return database.acknowledge(
        event, {acknowledgement.by, acknowledgement.comment, acknowledgement.time});
  });
}
void StoreHistory::mark(const std::string& event, const api::Feedback& feedback,
                        const api::AuditEntry&, api::Done<bool> done) {
  act(std::move(done), [=](store::Store& database) {
    return database.mark(event, {feedback.mark, feedback.by, feedback.comment, feedback.time});
  });
}
void StoreHistory::add_silence(const api::Silence& silence, const api::AuditEntry&,
                               api::Done<bool> done) {
  act(std::move(done), [=](store::Store& database) {
    return database.add_silence(
        {silence.id, silence.network.value_or(""), silence.origin.value_or(""),
         silence.destination.value_or(""), silence.node.value_or(""),
         silence.shape ? name_of(*silence.shape) : "", silence.starts, silence.ends,
         silence.created_by, silence.comment, silence.created, std::nullopt});
  });
}
void StoreHistory::expire_silence(const std::string& id, const api::AuditEntry& entry,
                                  api::Done<bool> done) {
  act(std::move(done),
      [=](store::Store& database) { return database.expire_silence(id, entry.actor, entry.time); });
}
void StoreHistory::add_audit(const api::AuditEntry& entry, api::Done<bool> done) {
  act(std::move(done), [=](store::Store& database) {
    return database.audit({entry.time, entry.actor, entry.action, entry.subject, entry.detail});
  });
}

// After every report so far is in the database: what the API shows is in the copy.
void StoreHistory::backup(const std::string& path, api::ApiPorts::BackupDone done) {
  disk_.after_reports([this, path, done = std::move(done)] {
    const bool taken = backup_thread_.offer(0, [this, path, done] {
      const store::Outcome<void> copied = store::backup_database(database_path_, path);
      std::error_code error;
      const std::uint64_t bytes = copied ? std::filesystem::file_size(path, error) : 0;
      boost::asio::post(network_, [done, copied, bytes] {
        if (copied) return done(bytes);
        const int status = copied.error().kind == StoreError::Kind::kExists ? 409 : 503;
        done(tl::unexpected(api::ApiPorts::BackupFailure{status, copied.error().message}));
      });
    });
    if (!taken)
      boost::asio::post(network_, [done] {
        done(tl::unexpected(api::ApiPorts::BackupFailure{503, "another backup is under way"}));
      });
  });
}

void StoreHistory::newest(const std::vector<std::string>& networks,
                          std::function<void(std::vector<std::pair<Network, SliceReport>>)> done) {
  const bool taken = query_thread_.offer(0, [this, networks, done] {
    boost::asio::post(
        network_, [done, found = queries_->newest(networks)]() mutable { done(std::move(found)); });
  });
  if (!taken) boost::asio::post(network_, [done] { done({}); });
}

}  // namespace outlierd
