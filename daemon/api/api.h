#pragma once
// The HTTP API: finds out what is asked and by whom, and answers from the live state or, for what
// lies further back, through the history. The lead wires it: an HttpServer gets dispatch(), each
// report goes to on_report().
//
// Net thread only. The ports and the history outlive it.

#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/traffic/exporter_book.h"
#include "core/traffic/operational_events.h"
#include "daemon/api/event_stream.h"
#include "daemon/api/history.h"
#include "daemon/api/http.h"
#include "daemon/api/json_writer.h"
#include "daemon/api/live_state.h"
#include "daemon/api/router.h"
#include "daemon/api/tokens.h"

namespace boost::asio {
class io_context;
}

namespace outlierd::api {

struct IngestRequest {
  std::string network;       // of slices: that of the path; of flows: as asked, or empty
  std::string content_type;  // the media type, in lower case
  std::string body;
  std::string peer;
  std::string identity;  // name of the token
};

// 202: text is the JSON of the answer. Else (409, 413, 415, 422, 429, 503): text says why.
struct IngestAnswer {
  int status = 202;
  std::string text;
};
using Ingest = std::function<void(IngestRequest, std::function<void(IngestAnswer)>)>;

struct ExporterRecord {
  std::string network;
  const ExporterFacts* facts = nullptr;  // valid until the next event of the net thread
  std::vector<std::string> nodes;        // whose traffic it reports
};

struct StaticFile {
  std::string content_type;
  std::shared_ptr<const std::string> body;
  std::shared_ptr<const std::string> gzip = nullptr;  // the same packed, for who accepts it
  bool immutable = false;                             // its path changes when its content does
};

struct NotifyOutcome {
  std::string notifier;
  bool ok = false;
  std::string detail;
  double seconds = 0.0;
};

struct ApiPorts {
  std::string version;
  History* history = nullptr;                              // null: only what is live
  Ingest slices, flows;                                    // null: answered 503
  std::function<std::vector<ExporterRecord>()> exporters;  // null: none
  // Oldest first, valid until the next event of the net thread; null: none.
  std::function<std::vector<const OperationalEvent*>()> operational_events;
  // Who was behind an event; null: nothing is known.
  std::function<const Behind*(const std::string& event)> behind;
  std::function<std::string()> metrics;
  // Reasons why not; empty: fine.
  std::function<std::vector<std::string>()> unhealthy, unready;
  // As SIGHUP; calls back with what was bad.
  std::function<void(std::function<void(std::vector<std::string>)>)> reload;
  // A copy of the store at that path: its size, or a status code and why not.
  struct BackupFailure {
    int status = 503;
    std::string reason;
  };
  using BackupDone = std::function<void(tl::expected<std::uint64_t, BackupFailure>)>;
  std::function<void(const std::string& path, BackupDone)> backup;
  // Null: nobody is told of events, nothing can be tested.
  std::function<void(const EventRecord&)> event_changed;
  using NotifyTestDone = std::function<void(std::vector<NotifyOutcome>)>;
  std::function<void(NotifyTestDone)> notify_test;
  std::map<std::string, StaticFile> files;  // by path: "/" is the dashboard
  std::size_t most_ingest_bytes = 64 << 20;
};

class Api {
 public:
  Api(boost::asio::io_context& io, LiveState& live, const Tokens& tokens, ApiPorts ports);
  ~Api();

  Dispatch dispatch();
  // To live state and stream; seconds: what the work on the slice took.
  void on_report(const std::string& network, SliceReport&& report,
                 double seconds = std::numeric_limits<double>::quiet_NaN());
  void on_operational(const OperationalEvent& event);  // to the stream
  // Fills the live state from the history: newest events, open events, anomalies, silences. What
  // could not be read is named.
  void recover(std::function<void(std::vector<std::string> problems)> done);
  std::size_t stream_clients() const { return stream_.clients(); }

 private:
  struct Call {
    Operation operation;
    Arguments arguments;
    Identity identity;
  };

  Admission admit(const Request& head);
  Admission admit_route(const Request& head, const Route& route, const Match& found);
  std::optional<Response> file(const Request& head) const;
  void handle(const Call& call, Request& request, const Reply& reply);

  Response page() const;
  Response status() const;
  Response networks(const Call& call) const;
  Response network(const Call& call) const;
  Response model(const Call& call) const;
  Response exporters(const Call& call) const;
  Response operational_events(const Call& call) const;
  Response health(bool ready) const;
  Response metrics() const;
  Response silences(const Call& call) const;
  Response stream(const Call& call, const Request& request);
  void matrix(const Call& call, const Reply& reply) const;
  void series(const Call& call, const Reply& reply) const;
  void slices(const Call& call, const Reply& reply) const;
  void anomalies(const Call& call, const Reply& reply) const;
  void events(const Call& call, const Reply& reply) const;
  void event(const Call& call, const Reply& reply) const;
  void audit(const Call& call, const Reply& reply) const;
  void ingest(const Call& call, Request& request, const Reply& reply);
  void acknowledge(const Call& call, const Request& request, const Reply& reply);
  void feedback(const Call& call, const Request& request, const Reply& reply);
  void add_silence(const Call& call, const Request& request, const Reply& reply);
  void expire_silence(const Call& call, const Reply& reply);
  void backup(const Call& call, const Request& request, const Reply& reply);
  void notify_test(const Call& call, const Reply& reply);
  void reload(const Call& call, const Reply& reply);

  std::string with_behind(std::string event, const std::string& id) const;
  void write_event(JsonWriter& json, const LiveEvent& event) const;
  void write_event(JsonWriter& json, const EventRecord& event) const;
  void publish_event(EventChange change, const LiveEvent& event);
  void publish_pending(std::string_view what, const LiveEvent& event);

  struct Heartbeat;
  LiveState& live_;
  const Tokens& tokens_;
  ApiPorts ports_;
  EventStream stream_;
  std::shared_ptr<const std::string> openapi_;
  std::chrono::steady_clock::time_point begun_ = std::chrono::steady_clock::now();
  std::unique_ptr<Heartbeat> heartbeat_;
  std::shared_ptr<char> alive_ =
      std::make_shared<char>();  // answers that come after it are dropped
};

}  // namespace outlierd::api
