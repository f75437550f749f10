#include "daemon/ctl/pusher.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <thread>

#include "daemon/ctl/progress.h"
#include "daemon/ctl/times.h"

namespace outlierd::ctl {
namespace {

constexpr std::size_t kMostUnsentBytes = 1 << 20;
constexpr std::size_t kMostNotices = 20;
constexpr std::size_t kHopeless = 100;  // refused, and nothing accepted: it will not get better
constexpr double kLongestWait = 0.25;   // so that progress is seen

void sleep_for(double seconds) {
  std::this_thread::sleep_for(std::chrono::duration<double>(seconds));
}

}  // namespace

Pusher::Pusher(PushOptions options, std::unique_ptr<PushProtocol> protocol, TrafficReader& reader,
               Notice notice, OnProgress on_progress)
    : options_(std::move(options)),
      protocol_(std::move(protocol)),
      reader_(reader),
      notice_(std::move(notice)),
      on_progress_(std::move(on_progress)),
      delay_(options_.first_delay_seconds),
      retry_delay_(options_.first_delay_seconds) {}

PushSummary Pusher::run() {
  begin_ = last_progress_ = steady_seconds();
  while (summary_.stopped.empty()) {
    if (!connection_ && !connect()) continue;
    fill();
    if (finished()) break;
    exchange();
    on_progress_(reader_.fraction_read(),
                 summary_.accepted + summary_.already_there + summary_.late + summary_.refused);
  }
  if (!file_error_.empty()) stop(file_error_);
  summary_.seconds = steady_seconds() - begin_;
  return summary_;
}

bool Pusher::finished() const {
  return file_ended_ && unanswered_.empty() && again_.empty() && later_.empty();
}

void Pusher::stop(std::string reason, bool unreachable) {
  if (!summary_.stopped.empty()) return;
  summary_.stopped = std::move(reason);
  summary_.unreachable = unreachable;
}

bool Pusher::connect() {
  auto opened = Connection::open(options_.to, options_.connection);
  if (opened) {
    connection_ = std::move(*opened);
    ++summary_.connections;
    out_ = protocol_->begin();
    in_.clear();
    last_answer_ = steady_seconds();
    return true;
  }
  const bool hopeless =
      summary_.connections == 0 || steady_seconds() - last_progress_ > options_.give_up_seconds;
  if (hopeless) {
    stop(opened.error(), true);
  } else {
    sleep_for(delay_);
    delay_ = std::min(2 * delay_, options_.longest_delay_seconds);
  }
  return false;
}

void Pusher::fill() {
  const double now = steady_seconds();
  while (out_.size() < kMostUnsentBytes) {
    std::optional<Bin> bin = next_bin(now);
    if (!bin) return;
    if (unanswered_.empty()) last_answer_ = now;
    out_ += bin->message;
    unanswered_.push_back(std::move(*bin));
  }
}

std::optional<Pusher::Bin> Pusher::next_bin(double now) {
  std::deque<Bin>* queue = nullptr;
  if (!again_.empty())
    queue = &again_;
  else if (!later_.empty() && later_.front().not_before <= now)
    queue = &later_;
  if (queue == nullptr) return next_row(now);
  Bin bin = std::move(queue->front());
  queue->pop_front();
  ++summary_.resent;
  return bin;
}

std::optional<Pusher::Bin> Pusher::next_row(double now) {
  while (!row_waits_ && !file_ended_) {
    const auto got = reader_.next(row_);
    if (!got) file_error_ = got.error();
    file_ended_ = !got || !*got;
    if (file_ended_) break;
    const bool there = options_.after && row_.time <= *options_.after;
    if (there) ++summary_.skipped;
    row_waits_ = !there;
  }
  if (!row_waits_) return std::nullopt;
  const std::size_t held = unanswered_.size() + later_.size();
  if (held >= options_.window) return std::nullopt;
  if (held > 0 && held_bytes_ > options_.window_bytes) return std::nullopt;
  if (options_.bins_a_second > 0 && now < begin_ + double(summary_.sent) / options_.bins_a_second)
    return std::nullopt;
  row_waits_ = false;
  ++summary_.sent;
  Bin bin;
  bin.message = protocol_->encode(row_);
  bin.time = row_.time;
  bin.line = row_.line;
  held_bytes_ += bin.message.size();
  return bin;
}

double Pusher::wait_seconds(double now) const {
  double until = now + kLongestWait;
  if (!later_.empty()) until = std::min(until, later_.front().not_before);
  if (row_waits_ && options_.bins_a_second > 0)
    until = std::min(until, begin_ + double(summary_.sent) / options_.bins_a_second);
  return std::max(0.0, until - now);
}

void Pusher::exchange() {
  const double now = steady_seconds();
  const auto moved = connection_->exchange(out_, in_, wait_seconds(now));
  take_answers();
  if (!connection_ || !summary_.stopped.empty()) return;
  if (!moved) return broken(moved.error());
  if (*moved == Connection::Outcome::kClosed) return broken("the daemon closed it");
  if (!unanswered_.empty() && steady_seconds() - last_answer_ > options_.answer_seconds)
    broken(fmt::format("no answer in {:g} s", options_.answer_seconds));
}

void Pusher::take_answers() {
  while (summary_.stopped.empty()) {
    auto answer = protocol_->take_answer(in_);
    if (!answer) return broken(answer.error());
    if (!*answer) return;
    last_answer_ = steady_seconds();
    if ((*answer)->verdict == Verdict::kDenied)
      return stop("the daemon refuses: " + (*answer)->reason);
    if (unanswered_.empty()) return broken("an answer to nothing");
    Bin bin = std::move(unanswered_.front());
    unanswered_.pop_front();
    judge(std::move(bin), **answer);
  }
}

// Late is an answer of two kinds. A bin that is older than the first one accepted here, or that
// went out before on a connection that broke, the daemon simply has already, from an earlier push
// or from the one whose answer was lost. But where this run brought the bin before and the daemon
// has closed this one nevertheless, somebody else moved its clock on and the bin is lost: that is
// said.
void Pusher::judge(Bin bin, const PushAnswer& answer) {
  const auto say = [&](const char* what) {
    if (summary_.refused + summary_.late <= kMostNotices)
      notice_(fmt::format("{}:{}: bin {} {}: {}", reader_.name(), bin.line, format_time(bin.time),
                          what, answer.reason));
  };
  if (answer.verdict == Verdict::kRetry) {
    if (steady_seconds() - last_progress_ > options_.give_up_seconds)
      return stop(fmt::format("nothing was durable for {:g} s: {}", options_.give_up_seconds,
                              answer.reason));
    const double now = steady_seconds();
    if (now >= retry_grows_at_) {  // once a round, however many answers it has
      retry_delay_ = std::min(2 * retry_delay_, options_.longest_delay_seconds);
      retry_grows_at_ = now + retry_delay_;
    }
    bin.not_before = now + retry_delay_;
    later_.push_back(std::move(bin));
    return;
  }
  held_bytes_ -= bin.message.size();
  last_progress_ = steady_seconds();
  delay_ = options_.first_delay_seconds;
  if (answer.verdict == Verdict::kAccepted) {
    ++summary_.accepted;
    retry_delay_ = options_.first_delay_seconds;
  } else if (answer.verdict == Verdict::kLate && (bin.unheard || summary_.accepted == 0)) {
    ++summary_.already_there;
  } else if (answer.verdict == Verdict::kLate) {
    ++summary_.late;
    say("is late");
  } else {
    ++summary_.refused;
    say("refused");
    if (summary_.accepted == 0 && summary_.refused >= kHopeless)
      stop(fmt::format("the first {} bins were refused", summary_.refused));
  }
}

void Pusher::broken(const std::string& reason) {
  connection_.reset();
  out_.clear();
  in_.clear();
  for (Bin& bin : unanswered_) bin.unheard = true;
  again_.insert(again_.begin(), std::make_move_iterator(unanswered_.begin()),
                std::make_move_iterator(unanswered_.end()));
  unanswered_.clear();
  if (finished()) return;
  if (steady_seconds() - last_progress_ > options_.give_up_seconds)
    return stop("the connection broke and nothing went through since: " + reason, true);
  notice_(fmt::format("the connection to {} broke ({}); trying again", options_.to.text, reason));
  sleep_for(delay_);
  delay_ = std::min(2 * delay_, options_.longest_delay_seconds);
}

}  // namespace outlierd::ctl
