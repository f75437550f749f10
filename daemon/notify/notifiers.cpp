#include "daemon/notify/notifiers.h"

#include <algorithm>

namespace outlierd::notify {

void Notifiers::use(std::vector<NotifierSettings> settings, const Known& known) {
  std::vector<std::unique_ptr<Notifier>> kept(settings.size());
  for (std::size_t k = 0; k < settings.size(); ++k)
    for (auto& old : all_)
      if (old && old->settings() == settings[k]) kept[k] = std::move(old);
  all_.clear();  // before others take over their queues
  for (std::size_t k = 0; k < settings.size(); ++k) {
    if (kept[k]) continue;
    kept[k] = std::make_unique<Notifier>(std::move(settings[k]), ports_);
    if (begun_) kept[k]->begin(known.events, known.complete);
  }
  all_ = std::move(kept);
}

void Notifiers::begin(const Known& known) {
  begun_ = true;
  for (auto& one : all_) one->begin(known.events, known.complete);
}

void Notifiers::on_events(std::vector<EventNotice> events) {
  if (!begun_ || all_.empty()) return;
  const auto shared = std::make_shared<const std::vector<EventNotice>>(std::move(events));
  for (auto& one : all_) one->on_events(shared);
}

void Notifiers::test(std::function<void(std::vector<TestOutcome>)> done) {
  struct Progress {
    std::size_t waiting = 0;
    std::vector<TestOutcome> outcomes;
  };
  if (all_.empty()) return done({});
  auto progress = std::make_shared<Progress>();
  progress->waiting = all_.size();
  progress->outcomes.resize(all_.size());
  for (std::size_t k = 0; k < all_.size(); ++k)
    all_[k]->test([post = post_, progress, k, done](TestOutcome outcome) {
      post([progress, k, done, outcome = std::move(outcome)]() mutable {
        progress->outcomes[k] = std::move(outcome);
        if (--progress->waiting == 0) done(std::move(progress->outcomes));
      });
    });
}

}  // namespace outlierd::notify
