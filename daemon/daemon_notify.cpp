#include <boost/asio/post.hpp>
#include <stdexcept>

#include "daemon/daemon_parts.h"
#include "daemon/notification.h"

namespace outlierd {

void Daemon::Parts::start_notifiers() {
  notifiers_ = std::make_unique<notify::Notifiers>(
      logging_ports(),
      [this](std::function<void()> act) { boost::asio::post(io_, std::move(act)); });
  auto settings = notifier_settings(config_, options_.notify_resend);
  if (!settings) throw std::runtime_error(settings.error());
  notifiers_->use(std::move(*settings), {});
}

std::vector<notify::EventNotice> Daemon::Parts::notices(bool open_only) const {
  api::EventQuery query;
  if (open_only) query.open = true;
  query.limit = live_->events.size();
  std::vector<notify::EventNotice> all;
  for (const api::LiveEvent* event : live_->events.list(query))
    all.push_back(notice_of(event->record));
  return all;
}

notify::EventNotice Daemon::Parts::notice_of(const api::EventRecord& event) const {
  return outlierd::notice_of(event, live_->silenced(event),
                             live_->network(event.network) != nullptr);
}

notify::Notifiers::Known Daemon::Parts::known_events() const {
  return {std::make_shared<const std::vector<notify::EventNotice>>(notices(false)),
          history_complete_};
}

// Silences come and go by themselves, so open events are shown to the notifiers now and then.
void Daemon::Parts::remind_notifiers() {
  if (!notifiers_->all().empty()) notifiers_->on_events(notices(true));
}

std::optional<std::string> Daemon::Parts::reload_notifiers(const config::Config& config) {
  auto settings = notifier_settings(config, options_.notify_resend);
  if (!settings) return settings.error();
  notifiers_->use(std::move(*settings),
                  notifiers_->begun() ? known_events() : notify::Notifiers::Known{});
  config_.notify = config.notify;
  return std::nullopt;
}

void Daemon::Parts::test_notifiers(api::ApiPorts::NotifyTestDone done) {
  notifiers_->test([done = std::move(done)](std::vector<notify::TestOutcome> outcomes) {
    std::vector<api::NotifyOutcome> all;
    for (notify::TestOutcome& one : outcomes)
      all.push_back({std::move(one.name), one.ok, std::move(one.detail), one.seconds});
    done(std::move(all));
  });
}

}  // namespace outlierd
