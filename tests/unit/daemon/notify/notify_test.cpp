// The pure parts of daemon/notify: bodies, signatures, syslog lines, back-off, the book and its
// file.

#include <gtest/gtest.h>

#include <boost/regex.hpp>
#include <fstream>
#include <nlohmann/json.hpp>

#include "daemon/notify/alert_book.h"
#include "daemon/notify/backoff.h"
#include "daemon/notify/bodies.h"
#include "daemon/notify/queue_file.h"
#include "daemon/notify/syslog_line.h"
#include "tests/support/temporary_directory.h"

namespace outlierd::notify {
namespace {

using Json = nlohmann::json;
using Values = std::map<std::string, std::string>;

constexpr EpochSeconds kNow = 1'800'000'000;

EventNotice event_of(const std::string& id, EpochSeconds opened = kNow - 600) {
  EventNotice event;
  event.id = id;
  event.network = "abilene";
  event.shape = "ddos";
  event.direction = "up";
  event.summary = "7 origins send 4.1x to \"CHIN\"";
  event.opened = event.updated = opened;
  event.peak_score = 12.44;
  event.excess = 5120;
  event.origins = "ATLA,DNVR";
  event.destinations = "CHIN";
  return event;
}

Alert alert_of(const EventNotice& event) {
  return {labels_of(event), annotations_of(event), event.opened, event.closed};
}

AlertBook begun(BookOptions options = {}) {
  AlertBook book(options);
  book.begin({}, true, kNow);
  return book;
}

std::vector<std::pair<std::string, Telling>> told(const std::vector<Due>& due) {
  std::vector<std::pair<std::string, Telling>> all;
  for (const Due& one : due) all.emplace_back(one.id, one.telling);
  return all;
}
using Told = std::vector<std::pair<std::string, Telling>>;

void deliver(AlertBook& book, EpochSeconds now) {
  for (const Due& one : book.due(now, 1000)) book.delivered(one, now);
}

AlertBook restored(const AlertBook& from, BookOptions options = {}) {
  AlertBook book(options);
  for (const auto& [key, value] : from.everything()) EXPECT_TRUE(book.restore(key, value)) << key;
  return book;
}

TEST(Alerts, KeepTheirLabelsWhateverTheEventBecomes) {
  AlertBook book = begun({.repeats = true});
  EventNotice event = event_of("e1");
  event.shape = "spike";
  book.on_event(event);
  const auto first = book.due(kNow, 10).at(0).alert;
  deliver(book, kNow);
  event.shape = "ddos";
  event.summary = "more";
  book.on_event(event);
  const auto second = book.due(kNow, 10).at(0).alert;
  EXPECT_EQ(first.labels, second.labels);
  EXPECT_EQ(second.labels.at("shape"), "spike");
  EXPECT_EQ(second.annotations.at("shape"), "ddos");
  EXPECT_EQ(second.annotations.at("summary"), "more");
}

// integration/notify.py compares with what a real Alertmanager computes.
TEST(Alerts, HaveFingerprintsOfFnvOverSortedLabels) {
  // FNV-1a by hand of "a" 0xff "b" 0xff.
  std::uint64_t hash = 0xcbf29ce484222325u;
  for (const unsigned byte : {0x61u, 0xffu, 0x62u, 0xffu}) {
    hash ^= byte;
    hash *= 0x100000001b3u;
  }
  char text[17];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(hash));
  EXPECT_EQ(fingerprint({{"a", "b"}}), text);
  EXPECT_EQ(fingerprint({}), "cbf29ce484222325");
}

TEST(AlertmanagerBody, FiresUntilAFewMinutesAheadAndEndsWhenTheEventClosed) {
  EventNotice over = event_of("e2");
  over.closed = kNow - 60;
  const std::vector<Alert> alerts = {alert_of(event_of("e1")), alert_of(over)};
  const Json body = Json::parse(alertmanager_body(alerts, kNow + 240));
  ASSERT_EQ(body.size(), 2u);
  EXPECT_EQ(body[0]["labels"],
            Json::parse(R"({"alertname":"OutlierdEvent","network":"abilene","event":"e1",
                            "shape":"ddos","severity":"critical"})"));
  EXPECT_EQ(body[0]["annotations"]["summary"], "7 origins send 4.1x to \"CHIN\"");
  EXPECT_EQ(body[0]["startsAt"], "2027-01-15T07:50:00Z");  // date -u -d @1799999400
  EXPECT_EQ(body[0]["endsAt"], "2027-01-15T08:04:00Z");
  EXPECT_EQ(body[1]["endsAt"], "2027-01-15T07:59:00Z");
}

TEST(WebhookBody, IsVersion4OfAlertmanager) {
  const Json body = Json::parse(webhook_body(alert_of(event_of("e1"))));
  EXPECT_EQ(body["version"], "4");
  EXPECT_EQ(body["status"], "firing");
  for (const char* key : {"groupKey", "truncatedAlerts", "receiver", "groupLabels", "commonLabels",
                          "commonAnnotations", "externalURL"})
    EXPECT_TRUE(body.contains(key)) << key;
  ASSERT_EQ(body["alerts"].size(), 1u);
  const Json& alert = body["alerts"][0];
  EXPECT_EQ(alert["status"], "firing");
  EXPECT_EQ(alert["endsAt"], "0001-01-01T00:00:00Z");
  EXPECT_EQ(alert["labels"]["event"], "e1");
  EXPECT_TRUE(alert.contains("fingerprint") && alert.contains("generatorURL"));

  EventNotice over = event_of("e1");
  over.closed = kNow;
  const Json resolved = Json::parse(webhook_body(alert_of(over)));
  EXPECT_EQ(resolved["status"], "resolved");
  EXPECT_EQ(resolved["alerts"][0]["endsAt"], "2027-01-15T08:00:00Z");
  EXPECT_EQ(resolved["alerts"][0]["fingerprint"], alert["fingerprint"]);
}

TEST(Bodies, SurviveTextThatIsNotUtf8) {
  EventNotice event = event_of("e1");
  event.summary = "\xff\xfe broken";
  EXPECT_NO_THROW(Json::parse(webhook_body(alert_of(event))));
}

// RFC 4231, test cases 1, 2 and 6 (a key longer than a block).
TEST(Signature, IsHmacSha256AsTheRfcHasIt) {
  EXPECT_EQ(signature_of("Hi There", std::string(20, '\x0b')),
            "sha256=b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(signature_of("what do ya want for nothing?", "Jefe"),
            "sha256=5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(signature_of("Test Using Larger Than Block-Size Key - Hash Key First",
                         std::string(131, '\xaa')),
            "sha256=60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Base64, IsThatOfRfc4648) {
  EXPECT_EQ(base64(""), "");
  EXPECT_EQ(base64("f"), "Zg==");
  EXPECT_EQ(base64("fo"), "Zm8=");
  EXPECT_EQ(base64("foobar"), "Zm9vYmFy");
}

TEST(SyslogLine, FollowsTheGrammarOfRfc5424) {
  EventNotice event = event_of("e1");
  event.network = "a]b\"c\\d";
  event.summary = "one\ntwo";
  const Due due{"e1", Telling::kFiring, alert_of(event)};
  const std::string line = syslog_line(due, kNow, {"host name", "42"});
  const boost::regex grammar(
      R"(<(\d{1,3})>1 (\S+) (\S{1,255}) (\S{1,48}) (\S{1,128}) (\S{1,32}) )"
      R"(\[([^ =\]"]{1,32})((?: [^ =\]"]{1,32}="(?:[^"\\\]]|\\["\\\]])*")*)\] (\xEF\xBB\xBF.*))");
  boost::smatch parts;
  ASSERT_TRUE(boost::regex_match(line, parts, grammar)) << line;
  EXPECT_EQ(parts[1], "26");  // daemon (3) * 8 + critical (2)
  EXPECT_EQ(parts[2], "2027-01-15T08:00:00Z");
  EXPECT_EQ(parts[3], "hostname");
  EXPECT_EQ(parts[4], "outlierd");
  EXPECT_EQ(parts[6], "event-opened");
  EXPECT_NE(parts[8].str().find(R"(network="a\]b\"c\\d")"), std::string::npos) << line;
  EXPECT_EQ(parts[9], "\xEF\xBB\xBFone two");
}

TEST(SyslogLine, SaysWhenItIsOverAsANotice) {
  EventNotice event = event_of("e1");
  event.closed = kNow;
  const std::string line =
      syslog_line({"e1", Telling::kResolved, alert_of(event)}, kNow, {"h", "1"});
  EXPECT_EQ(line.substr(0, 6), "<29>1 ");  // daemon * 8 + notice (5)
  EXPECT_NE(line.find(" event-closed ["), std::string::npos);
  EXPECT_NE(line.find("state=\"resolved\""), std::string::npos);
}

TEST(SyslogLine, IsFramedByItsLengthInOctets) { EXPECT_EQ(framed("h\xC3\xA9!"), "4 h\xC3\xA9!"); }

TEST(BackoffTime, DoublesToItsBoundAndScattersByHalf) {
  using namespace std::chrono_literals;
  for (const std::uint64_t seed : {1u, 2u, 3u}) {
    Backoff backoff(1s, 60s, seed);
    for (const int seconds : {1, 2, 4, 8, 16, 32, 60, 60, 60}) {
      const auto wait = backoff.failed();
      EXPECT_GE(wait, 500ms * seconds);
      EXPECT_LE(wait, 1500ms * seconds);
    }
    backoff.succeeded();
    EXPECT_LE(backoff.failed(), 1500ms);
  }
  EXPECT_NE(Backoff(1s, 60s, 1).failed(), Backoff(1s, 60s, 2).failed());
}

TEST(Book, TellsAnEventOnceWhenItOpensAndOnceWhenItCloses) {
  AlertBook book = begun();
  EventNotice event = event_of("e1");
  book.on_event(event);
  EXPECT_EQ(told(book.due(kNow, 10)), (Told{{"e1", Telling::kFiring}}));
  deliver(book, kNow);
  EXPECT_TRUE(book.due(kNow + 10'000, 10).empty());
  event.summary = "more of the same";
  event.updated += 300;
  book.on_event(event);
  EXPECT_TRUE(book.due(kNow + 300, 10).empty()) << "numbers alone are no news";
  event.closed = kNow + 600;
  book.on_event(event);
  EXPECT_EQ(book.queued(), 1u);
  const auto due = book.due(kNow + 700, 10);
  EXPECT_EQ(told(due), (Told{{"e1", Telling::kResolved}}));
  EXPECT_EQ(due.at(0).alert.ends, kNow + 600);
  deliver(book, kNow + 700);
  EXPECT_EQ(book.queued(), 0u);
  book.on_event(event);  // said again
  EXPECT_TRUE(book.due(kNow + 10'000, 10).empty());
}

TEST(Book, SendsAgainWhatFiresWhereTheReceiverWantsThat) {
  AlertBook book = begun({.repeats = true, .resend = 60, .shown_at_least = 60});
  EventNotice event = event_of("e1");
  book.on_event(event);
  deliver(book, kNow);
  EXPECT_EQ(book.next_due(kNow), kNow + 60);
  EXPECT_TRUE(book.due(kNow + 59, 10).empty());
  EXPECT_EQ(told(book.due(kNow + 60, 10)), (Told{{"e1", Telling::kRepeated}}));
  EXPECT_EQ(book.queued(), 0u);
  event.acknowledged = "by ann";
  book.on_event(event);
  EXPECT_EQ(book.due(kNow + 1, 10).at(0).alert.annotations.at("acknowledged"), "by ann");
}

TEST(Book, ShowsWhatWasMissedForAWhileBeforeItIsOver) {
  AlertBook book = begun({.repeats = true, .resend = 60, .shown_at_least = 60});
  EventNotice event = event_of("e1");
  book.on_event(event);
  event.closed = kNow - 300;
  book.on_event(event);
  EXPECT_EQ(book.queued(), 1u);
  EXPECT_EQ(told(book.due(kNow, 10)), (Told{{"e1", Telling::kFiring}}));
  deliver(book, kNow);
  EXPECT_TRUE(book.due(kNow + 59, 10).empty());
  EXPECT_EQ(told(book.due(kNow + 60, 10)), (Told{{"e1", Telling::kResolved}}));
}

TEST(Book, KeepsQuietAboutWhatIsSilencedUntilTheSilenceEnds) {
  AlertBook book = begun({.repeats = true});
  EventNotice event = event_of("e1");
  event.silenced = true;
  book.on_event(event);
  EXPECT_FALSE(book.next_due(kNow));
  event.silenced = false;
  book.on_event(event);
  deliver(book, kNow);
  event.silenced = true;
  book.on_event(event);
  EXPECT_TRUE(book.due(kNow + 1000, 10).empty());
  event.closed = kNow + 1000;
  book.on_event(event);  // it was told, so its end is too
  EXPECT_EQ(told(book.due(kNow + 1000, 10)), (Told{{"e1", Telling::kResolved}}));

  EventNotice other = event_of("e2");
  book.on_event(other);
  other.silenced = true;
  book.on_event(other);  // before it was told
  EXPECT_EQ(told(book.due(kNow + 1000, 10)), (Told{{"e1", Telling::kResolved}}));
}

TEST(Book, DropsTheOldestBeyondItsBoundAndCountsIt) {
  AlertBook book = begun({.most_queued = 3});
  for (int k = 0; k < 5; ++k) book.on_event(event_of("e" + std::to_string(k)));
  EXPECT_EQ(book.dropped(), 2u);
  EXPECT_EQ(told(book.due(kNow, 10)),
            (Told{{"e2", Telling::kFiring}, {"e3", Telling::kFiring}, {"e4", Telling::kFiring}}));
}

TEST(Book, GoesOnAfterARestart) {
  AlertBook before = begun({.repeats = true});
  before.on_event(event_of("told"));
  deliver(before, kNow - 10);
  before.on_event(event_of("waiting"));
  AlertBook after = restored(before, {.repeats = true});
  EventNotice closed = event_of("told");
  closed.closed = kNow;
  closed.shape = "level";
  after.begin({closed, event_of("waiting")}, true, kNow);
  EXPECT_EQ(told(after.due(kNow, 10)),
            (Told{{"told", Telling::kResolved}, {"waiting", Telling::kFiring}}));
  EXPECT_EQ(after.due(kNow, 1).at(0).alert.labels, labels_of(event_of("told")));
}

TEST(Book, ResolvesOnceWhatTheStoreKnowsNoMore) {
  AlertBook before = begun();
  before.on_event(event_of("gone"));
  deliver(before, kNow);
  AlertBook unsure = restored(before), sure = restored(before);
  unsure.begin({}, false, kNow);
  EXPECT_TRUE(unsure.due(kNow, 10).empty());
  sure.begin({}, true, kNow);
  EXPECT_EQ(told(sure.due(kNow, 10)), (Told{{"gone", Telling::kResolved}}));
}

TEST(Book, TellsWhatOpenedAndClosedWhileTheDaemonWasDying) {
  AlertBook before = begun();
  before.on_event(event_of("old", kNow - 900));
  deliver(before, kNow);
  EventNotice old = event_of("old", kNow - 900), unheard = event_of("unheard", kNow - 600);
  old.closed = unheard.closed = kNow - 300;
  before.on_event(old);
  deliver(before, kNow);  // told and forgotten
  AlertBook after = restored(before);
  after.begin({unheard, old}, true, kNow);
  EXPECT_EQ(told(after.due(kNow, 10)), (Told{{"unheard", Telling::kFiring}}));
  deliver(after, kNow);
  EXPECT_EQ(told(after.due(kNow, 10)), (Told{{"unheard", Telling::kResolved}}));
  deliver(after, kNow);
  AlertBook again = restored(after);
  again.begin({unheard, old}, true, kNow);
  EXPECT_TRUE(again.due(kNow, 10).empty());
}

TEST(Book, DoesNotTellANewReceiverOfThePast) {
  AlertBook book({});
  EventNotice past = event_of("past"), present = event_of("present");
  past.closed = kNow;
  book.begin({present, past}, true, kNow);
  EXPECT_EQ(told(book.due(kNow, 10)), (Told{{"present", Telling::kFiring}}));
}

TEST(Book, RefusesRecordsThatAreNotItsOwn) {
  AlertBook book({});
  for (const char* bad : {"", "{}", "[1", "{\"place\":\"x\"}", "null"}) {
    EXPECT_FALSE(book.restore("event:e", bad)) << bad;
    EXPECT_FALSE(book.restore("mark:n", bad)) << bad;
  }
}

class QueueFileTest : public testing::Test {
 protected:
  Values load(std::size_t expected_damage = 0) {
    std::size_t damaged = 0;
    auto values = QueueFile(path()).load(damaged);
    EXPECT_EQ(damaged, expected_damage);
    return values;
  }
  std::filesystem::path path() const { return folder_.path() / "notify" / "a.queue"; }

  test::TemporaryDirectory folder_;
};

TEST_F(QueueFileTest, KeepsWhatWasWrittenLast) {
  EXPECT_EQ(load(), Values{});
  {
    QueueFile file(path());
    const auto all = [] { return Values{{"a", "1"}, {"b", "two words"}}; };
    EXPECT_FALSE(file.write({{"a", "1"}}, all));
    EXPECT_FALSE(file.write({{"c", "3"}, {"a", ""}}, all));
  }
  EXPECT_EQ(load(), (Values{{"b", "two words"}, {"c", "3"}}));
  QueueFile next(path());
  EXPECT_FALSE(next.write({}, [] { return Values{{"d", "4"}}; }));
  EXPECT_EQ(load(), (Values{{"d", "4"}}));
}

TEST_F(QueueFileTest, LosesOnlyTheLineThatWasCutAtAnyByte) {
  QueueFile file(path());
  ASSERT_FALSE(file.rewrite({{"a", "1"}}));
  const auto whole = std::filesystem::file_size(path());
  ASSERT_FALSE(file.append({{"b", "22222"}}));
  for (auto size = std::filesystem::file_size(path()) - 1; size > whole; --size) {
    std::filesystem::resize_file(path(), size);
    EXPECT_EQ(load(1), (Values{{"a", "1"}})) << size;
  }
}

TEST_F(QueueFileTest, LeavesOutWhatWasChangedOnDisk) {
  QueueFile file(path());
  ASSERT_FALSE(file.rewrite({{"a", "1"}, {"b", "2"}}));
  std::fstream on_disk(path(), std::ios::in | std::ios::out);
  on_disk.seekp(11);
  on_disk.put('9');
  on_disk.close();
  EXPECT_EQ(load(1), (Values{{"b", "2"}}));
}

TEST_F(QueueFileTest, SaysWhyItCouldNotWrite) {
  std::ofstream(folder_.path() / "notify").put('x');  // a file where the folder should be
  QueueFile file(path());
  const auto reason = file.write({}, [] { return Values{}; });
  ASSERT_TRUE(reason);
  EXPECT_NE(reason->find("Not a directory"), std::string::npos) << *reason;
}

}  // namespace
}  // namespace outlierd::notify
