#include "daemon/notify/alert_book.h"

#include <algorithm>
#include <utility>

#include "daemon/notify/book_record.h"

namespace outlierd::notify {
namespace {

const std::string kEventKey = "event:", kMarkKey = "mark:", kBegunKey = "begun";

bool starts_with(const std::string& text, const std::string& prefix) {
  return text.compare(0, prefix.size(), prefix) == 0;
}

}  // namespace

bool AlertBook::restore(const std::string& key, const std::string& value) {
  restored_ = restored_ || key == kBegunKey;
  if (starts_with(key, kMarkKey)) {
    auto mark = parse_mark(value);
    if (!mark) return false;
    marks_[key.substr(kMarkKey.size())] = {mark->opened, std::move(mark->ids)};
  } else if (starts_with(key, kEventKey)) {
    auto record = parse_record(value);
    if (!record) return false;
    Entry& entry = entries_[key.substr(kEventKey.size())];
    entry = {record->place,  std::move(record->labels), std::move(record->event), record->told, 0,
             record->changed};
    next_place_ = std::max(next_place_, entry.place + 1);
  }
  return true;
}

void AlertBook::begin(const std::vector<EventNotice>& events, bool complete, EpochSeconds now) {
  if (begun_) return;
  begun_ = true;
  changes_.insert(kBegunKey);
  std::set<std::string> known;
  std::vector<const EventNotice*> sorted;
  for (const EventNotice& event : events) {
    known.insert(event.id);
    sorted.push_back(&event);
  }
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const auto* a, const auto* b) { return a->opened < b->opened; });
  const auto marks = marks_;
  for (const EventNotice* event : sorted) {
    if (event->closed && !entries_.contains(event->id)) {
      // It closed before this receiver heard of it: either long ago, or while we were dying.
      const auto mark = marks.find(event->network);
      const bool missed =
          restored_ &&
          (mark == marks.end() || event->opened > mark->second.opened ||
           (event->opened == mark->second.opened && !mark->second.ids.contains(event->id)));
      note(*event);
      if (missed && !event->silenced) add(*event);
    } else {
      on_event(*event);
    }
  }
  if (!complete) return;
  for (auto& [id, entry] : entries_) {
    if (known.contains(id) || entry.event.closed) continue;
    entry.event.closed = now;  // the store does not know it any more
    changes_.insert(kEventKey + id);
  }
}

void AlertBook::note(const EventNotice& event) {
  Mark& mark = marks_[event.network];
  if (!mark.ids.empty() && event.opened < mark.opened) return;
  if (event.opened > mark.opened) mark.ids.clear();
  mark.opened = event.opened;
  if (mark.ids.insert(event.id).second) changes_.insert(kMarkKey + event.network);
}

AlertBook::Entry& AlertBook::add(const EventNotice& event) {
  Entry& entry = entries_[event.id];
  entry.place = next_place_++;
  entry.labels = labels_of(event);
  entry.event = event;
  changes_.insert(kEventKey + event.id);
  bound();
  return entry;
}

void AlertBook::on_event(const EventNotice& event) {
  const auto found = entries_.find(event.id);
  if (found == entries_.end()) {
    note(event);
    if (!event.closed && !event.silenced) add(event);
    return;
  }
  Entry& entry = found->second;
  if (entry.event.closed || entry.event == event) return;
  if (event.silenced && entry.told == 0) return forget(event.id);
  const bool news = entry.event.shape != event.shape ||
                    entry.event.acknowledged != event.acknowledged ||
                    entry.event.closed != event.closed;
  entry.event = event;
  if (!news) return;
  // Where it stood in the queue it stays, unless nothing of it was waiting.
  if (!waits(entry)) entry.place = next_place_++;
  entry.changed = true;
  changes_.insert(kEventKey + event.id);
  bound();
}

void AlertBook::forget(const std::string& id) {
  entries_.erase(id);
  changes_.insert(kEventKey + id);
}

bool AlertBook::waits(const Entry& entry) const {
  return entry.told == 0 || entry.changed || entry.event.closed.has_value();
}

void AlertBook::bound() {
  while (queued() > options_.most_queued) {
    auto oldest = entries_.end();
    for (auto at = entries_.begin(); at != entries_.end(); ++at)
      if (waits(at->second) &&
          (oldest == entries_.end() || at->second.place < oldest->second.place))
        oldest = at;
    ++dropped_;
    forget(std::string(oldest->first));
  }
}

std::size_t AlertBook::queued() const {
  return std::size_t(std::count_if(entries_.begin(), entries_.end(),
                                   [this](const auto& each) { return waits(each.second); }));
}

// What comes next of an event, and when.
std::optional<std::pair<Telling, EpochSeconds>> AlertBook::next_of(const Entry& entry) const {
  if (entry.told == 0) return std::pair(Telling::kFiring, EpochSeconds(0));
  if (entry.event.closed)
    return std::pair(Telling::kResolved, entry.told + options_.shown_at_least);
  if (entry.event.silenced) return std::nullopt;
  if (entry.changed) return std::pair(Telling::kUpdated, EpochSeconds(0));
  if (options_.repeats) return std::pair(Telling::kRepeated, entry.last_sent + options_.resend);
  return std::nullopt;
}

std::vector<Due> AlertBook::due(EpochSeconds now, std::size_t most) const {
  std::vector<std::pair<std::uint64_t, Due>> found;
  for (const auto& [id, entry] : entries_) {
    const auto next = next_of(entry);
    if (!next || next->second > now) continue;
    Due one{id, next->first, {entry.labels, annotations_of(entry.event), entry.event.opened, {}}};
    if (next->first == Telling::kResolved) {
      // A slice may be ahead of the clock here; what has not ended yet would go on firing.
      one.alert.ends = std::min(*entry.event.closed, now);
      one.alert.starts = std::min(one.alert.starts, *one.alert.ends);
    }
    found.emplace_back(entry.place, std::move(one));
  }
  std::sort(found.begin(), found.end(),
            [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<Due> result;
  for (auto& [place, one] : found)
    if (result.size() < most) result.push_back(std::move(one));
  return result;
}

std::optional<EpochSeconds> AlertBook::next_due(EpochSeconds now) const {
  std::optional<EpochSeconds> soonest;
  for (const auto& [id, entry] : entries_)
    if (const auto next = next_of(entry))
      soonest = std::min(soonest.value_or(next->second), std::max(next->second, now));
  return soonest;
}

void AlertBook::delivered(const Due& sent, EpochSeconds now) {
  const auto found = entries_.find(sent.id);
  if (found == entries_.end()) return;
  Entry& entry = found->second;
  if (sent.telling == Telling::kResolved) return forget(std::string(sent.id));
  entry.last_sent = now;
  if (entry.told != 0 && !entry.changed) return;
  if (entry.told == 0) entry.told = now;
  // What changed while this was under way has yet to be told.
  entry.changed = entry.event.closed || annotations_of(entry.event) != sent.alert.annotations;
  changes_.insert(kEventKey + sent.id);
}

void AlertBook::postpone(const std::string& id) {
  if (const auto found = entries_.find(id); found != entries_.end())
    found->second.place = next_place_++;
}

std::string AlertBook::value_of(const std::string& key) const {
  if (key == kBegunKey) return "1";
  if (starts_with(key, kMarkKey)) {
    const Mark& mark = marks_.at(key.substr(kMarkKey.size()));
    return text_of(MarkRecord{mark.opened, mark.ids});
  }
  const auto found = entries_.find(key.substr(kEventKey.size()));
  if (found == entries_.end()) return "";
  const Entry& entry = found->second;
  return text_of(BookRecord{entry.place, entry.labels, entry.event, entry.told, entry.changed});
}

std::map<std::string, std::string> AlertBook::take_changes() {
  std::map<std::string, std::string> values;
  for (const std::string& key : std::exchange(changes_, {})) values[key] = value_of(key);
  return values;
}

std::map<std::string, std::string> AlertBook::everything() const {
  std::map<std::string, std::string> all;
  const auto keep = [&](const std::string& key) { all[key] = value_of(key); };
  if (begun_ || restored_) keep(kBegunKey);
  for (const auto& [network, mark] : marks_) keep(kMarkKey + network);
  for (const auto& [id, entry] : entries_) keep(kEventKey + id);
  return all;
}

}  // namespace outlierd::notify
