#include "daemon/notify/notifier.h"

#include <unistd.h>

#include <array>
#include <boost/asio/co_spawn.hpp>
#include <boost/asio/detached.hpp>
#include <boost/asio/executor_work_guard.hpp>
#include <boost/asio/experimental/awaitable_operators.hpp>
#include <boost/asio/io_context.hpp>
#include <boost/asio/post.hpp>
#include <boost/asio/redirect_error.hpp>
#include <boost/asio/steady_timer.hpp>
#include <boost/asio/use_awaitable.hpp>
#include <thread>

#include "daemon/notify/alert_book.h"
#include "daemon/notify/backoff.h"
#include "daemon/notify/bodies.h"
#include "daemon/notify/delivery.h"
#include "daemon/notify/queue_file.h"
#include "daemon/notify/syslog_line.h"

namespace outlierd::notify {
namespace {

namespace asio = boost::asio;
using namespace std::chrono_literals;
using Clock = std::chrono::steady_clock;

constexpr std::size_t kBatch = 64;    // alerts in one request to an Alertmanager
constexpr auto kSayAgain = 10min;     // between two complaints of one receiver
constexpr auto kLongestIdle = 3600s;  // a clock that was set is noticed by then
constexpr auto kFirstWait = 1s, kLongestWait = 60s;

EpochSeconds wall_clock() {
  return std::chrono::duration_cast<std::chrono::seconds>(
             std::chrono::system_clock::now().time_since_epoch())
      .count();
}

SyslogSource this_machine() {
  std::array<char, 256> name{};
  gethostname(name.data(), name.size() - 1);
  return {name.data(), std::to_string(getpid())};
}

BookOptions book_options(const NotifierSettings& settings) {
  BookOptions options;
  options.repeats = settings.kind == Kind::kAlertmanager;
  options.resend = settings.resend.count();
  if (options.repeats) options.shown_at_least = settings.resend.count();
  return options;
}

HttpTarget http_target(const NotifierSettings& settings) {
  HttpTarget target{settings.transport == Transport::kTls, settings.host, settings.port,
                    settings.path};
  if (settings.kind == Kind::kAlertmanager) {
    if (!target.target.ends_with('/')) target.target += '/';
    target.target += "api/v2/alerts";
  }
  if (!settings.user_info.empty())
    target.headers.emplace_back("Authorization", "Basic " + base64(settings.user_info));
  if (!settings.token.empty())
    target.headers.emplace_back("Authorization", "Bearer " + settings.token);
  return target;
}

SyslogTarget syslog_target(const NotifierSettings& settings) {
  const SyslogTransport transport = settings.transport == Transport::kUdp ? SyslogTransport::kUdp
                                    : settings.transport == Transport::kUnix
                                        ? SyslogTransport::kUnix
                                        : SyslogTransport::kTcp;
  return {transport, settings.host, settings.port, settings.path};
}

}  // namespace

class Notifier::Loop {
 public:
  Loop(const NotifierSettings& settings, NotifierPorts ports, NotifierCounters& counters)
      : settings_(settings),
        ports_(std::move(ports)),
        counters_(counters),
        book_(book_options(settings)),
        file_(settings.queue_file),
        backoff_(kFirstWait, kLongestWait, std::random_device{}()) {
    asio::co_spawn(io_, run(), asio::detached);
    thread_ = std::thread([this] {
      load();
      io_.run();
    });
  }

  ~Loop() {
    // Behind everything that was posted before.
    asio::post(io_, [this] { io_.stop(); });
    thread_.join();
  }

  void post(std::function<void()> act) { asio::post(io_, std::move(act)); }

  void begin(const std::vector<EventNotice>& events, bool complete) {
    book_.begin(events, complete, wall_clock());
    changed();
  }

  void take(const std::vector<EventNotice>& events) {
    if (!book_.begun()) return;
    for (const EventNotice& event : events) book_.on_event(event);
    changed();
  }

  void test(std::function<void(TestOutcome)> done) {
    asio::co_spawn(io_, run_test(std::move(done)), asio::detached);
  }

 private:
  void load() {
    std::size_t damaged = 0;
    for (const auto& [key, value] : file_.load(damaged))
      if (!book_.restore(key, value)) ++damaged;
    if (damaged > 1)  // one line may be what was being written at the end
      ports_.queue_failed(settings_.name, std::to_string(damaged) + " lines could not be read");
    count();
  }

  void count() {
    counters_.queued = book_.queued();
    counters_.dropped = book_.dropped();
  }

  void save() {
    const auto changes = book_.take_changes();
    if (changes.empty() && !unsaved_) return;
    const auto failure = file_.write(changes, [this] { return book_.everything(); });
    if (failure && !unsaved_) ports_.queue_failed(settings_.name, *failure);
    unsaved_ = failure.has_value();
  }

  void changed() {
    save();
    count();
    idle_.cancel();
  }

  asio::awaitable<void> wait(asio::steady_timer& timer, std::chrono::milliseconds time) {
    boost::system::error_code ignored;
    timer.expires_after(time);
    co_await timer.async_wait(asio::redirect_error(asio::use_awaitable, ignored));
  }

  asio::awaitable<void> run() {
    for (;;) {
      const EpochSeconds now = wall_clock();
      const bool many = settings_.kind == Kind::kAlertmanager && !refused_;
      const std::vector<Due> batch = book_.due(now, many ? kBatch : 1);
      if (batch.empty()) {
        const auto next = book_.next_due(now);
        const auto time = next ? std::clamp<std::chrono::seconds>(std::chrono::seconds(*next - now),
                                                                  1s, kLongestIdle)
                               : std::chrono::seconds(kLongestIdle);
        co_await wait(idle_, time);
        continue;
      }
      const auto outcome = co_await deliver(batch, now);
      if (outcome) {
        succeeded(batch);
      } else {
        co_await wait(pause_, failed(batch, outcome.error()));
      }
    }
  }

  void succeeded(const std::vector<Due>& batch) {
    const EpochSeconds now = wall_clock();
    for (const Due& one : batch) book_.delivered(one, now);
    refused_ = false;
    backoff_.succeeded();
    save();
    count();
    counters_.last_success = now;
    counters_.sent += batch.size();
    if (complained_) ports_.works_again(settings_.name);
    complained_.reset();
  }

  std::chrono::milliseconds failed(const std::vector<Due>& batch, const Refusal& refusal) {
    ++counters_.failed;
    // What a receiver does not want must not stand in the way of the rest.
    if (refusal.final && batch.size() == 1) book_.postpone(batch.front().id);
    refused_ = refusal.final;
    const auto now = Clock::now();
    if (!complained_ || now - *complained_ >= kSayAgain) {
      ports_.failed(settings_.name, refusal.reason);
      complained_ = now;
    }
    return backoff_.failed();
  }

  Delivery send(std::vector<Due> batch, EpochSeconds now) {
    if (settings_.kind == Kind::kSyslog)
      co_return co_await send_syslog(syslog_target(settings_),
                                     syslog_line(batch.front(), now, source_));
    HttpTarget target = http_target(settings_);
    std::string body;
    if (settings_.kind == Kind::kAlertmanager) {
      std::vector<Alert> alerts;
      for (const Due& one : batch) alerts.push_back(one.alert);
      body = alertmanager_body(alerts, now + 4 * settings_.resend.count());
    } else {
      const Alert& alert = batch.front().alert;
      body = webhook_body(alert);
      if (!settings_.hmac_key.empty())
        target.headers.emplace_back("X-Outlierd-Signature", signature_of(body, settings_.hmac_key));
    }
    co_return co_await notify::post(std::move(target), std::move(body));
  }

  Delivery deliver(const std::vector<Due>& batch, EpochSeconds now) {
    using namespace asio::experimental::awaitable_operators;
    asio::steady_timer limit(io_);
    auto first = co_await (send(batch, now) || wait(limit, settings_.time_limit));
    if (first.index() == 0) co_return std::move(std::get<0>(first));
    co_return tl::unexpected(Refusal{"no answer in time"});
  }

  asio::awaitable<void> run_test(std::function<void(TestOutcome)> done) {
    const auto begun = Clock::now();
    const EpochSeconds now = wall_clock();
    const std::vector<Due> batch = {{"test", Telling::kFiring, test_alert(now)}};
    const auto outcome = co_await deliver(batch, now);
    const std::chrono::duration<double> time = Clock::now() - begun;
    done({settings_.name, outcome.has_value(), outcome ? *outcome : outcome.error().reason,
          time.count()});
  }

  const NotifierSettings& settings_;
  const NotifierPorts ports_;
  NotifierCounters& counters_;
  asio::io_context io_{1};
  asio::executor_work_guard<asio::io_context::executor_type> work_ = asio::make_work_guard(io_);
  asio::steady_timer idle_{io_}, pause_{io_};
  AlertBook book_;
  QueueFile file_;
  Backoff backoff_;
  const SyslogSource source_ = this_machine();
  bool unsaved_ = false, refused_ = false;
  std::optional<Clock::time_point> complained_;
  std::thread thread_;
};

Notifier::Notifier(NotifierSettings settings, NotifierPorts ports)
    : settings_(std::move(settings)),
      loop_(std::make_unique<Loop>(settings_, std::move(ports), counters_)) {}

Notifier::~Notifier() = default;

void Notifier::begin(Notices events, bool complete) {
  loop_->post([loop = loop_.get(), events = std::move(events), complete] {
    loop->begin(*events, complete);
  });
}

void Notifier::on_events(Notices events) {
  loop_->post([loop = loop_.get(), events = std::move(events)] { loop->take(*events); });
}

void Notifier::test(std::function<void(TestOutcome)> done) {
  loop_->post(
      [loop = loop_.get(), done = std::move(done)]() mutable { loop->test(std::move(done)); });
}

}  // namespace outlierd::notify
