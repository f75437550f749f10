#pragma once
// The API's History over the store: reads on the query thread with a connection of its own, writes
// on the disk thread, answers on the network thread.

#include <boost/asio/any_io_executor.hpp>
#include <filesystem>
#include <functional>
#include <memory>

#include "daemon/api/api.h"
#include "daemon/api/history.h"
#include "daemon/store/store.h"
#include "daemon/worker/disk_thread.h"
#include "daemon/worker/lanes.h"

namespace outlierd {

class StoreHistory : public api::History {
 public:
  // `database` is for the disk thread alone.
  StoreHistory(boost::asio::any_io_executor network, std::filesystem::path database_path,
               std::function<store::Store&()> database, worker::DiskThread& disk);
  ~StoreHistory() override;

  void matrix(const std::string& network, EpochSeconds time, const std::string& metric,
              api::Done<std::optional<api::MatrixRecord>> done) override;
  void series(const api::SeriesQuery& query,
              api::Done<std::vector<api::SeriesPoint>> done) override;
  void slices(const api::SlicesQuery& query, api::Done<std::vector<api::SlicePoint>> done) override;
  void anomalies(const api::AnomalyQuery& query,
                 api::Done<std::vector<api::AnomalyRecord>> done) override;
  void events(const api::EventQuery& query, api::Done<std::vector<api::EventRecord>> done) override;
  void event(const std::string& id, api::Done<std::optional<api::EventRecord>> done) override;
  void acknowledge(const std::string& event, const api::Acknowledgement& acknowledgement,
                   const api::AuditEntry& entry, api::Done<bool> done) override;
  void mark(const std::string& event, const api::Feedback& feedback, const api::AuditEntry& entry,
            api::Done<bool> done) override;
  void silences(api::Done<std::vector<api::Silence>> done) override;
  void add_silence(const api::Silence& silence, const api::AuditEntry& entry,
                   api::Done<bool> done) override;
  void expire_silence(const std::string& id, const api::AuditEntry& entry,
                      api::Done<bool> done) override;
  void audit(std::size_t limit, api::Done<std::vector<api::AuditEntry>> done) override;
  void add_audit(const api::AuditEntry& entry, api::Done<bool> done) override;

  // A consistent copy of the database, on a thread of its own: others need not wait for it.
  void backup(const std::string& path, api::ApiPorts::BackupDone done);

  // The newest slice of each of these networks, for the live state after a start.
  void newest(const std::vector<std::string>& networks,
              std::function<void(std::vector<std::pair<Network, SliceReport>>)> done);

 private:
  class Queries;
  template <class T, class Ask>
  void ask(api::Done<T> done, Ask ask);
  template <class Act>
  void act(api::Done<bool> done, Act act);

  boost::asio::any_io_executor network_;
  std::function<store::Store&()> database_;
  worker::DiskThread& disk_;
  std::unique_ptr<Queries> queries_;
  const std::filesystem::path database_path_;
  worker::Lanes query_thread_, backup_thread_;  // last: they end first
};

}  // namespace outlierd
