#include "daemon/api/event_stream.h"

#include <gtest/gtest.h>

namespace outlierd::api {
namespace {

struct Listener : Stream {
  std::string text;
  bool open = true;
  bool write(std::shared_ptr<const std::string> bytes) override {
    if (open) text += *bytes;
    return open;
  }
  void close() override { open = false; }
};

bool holds(const Listener& listener, const std::string& part) {
  return listener.text.find(part) != std::string::npos;
}

TEST(EventStream, SendsEachMessageWithTheNextId) {
  EventStream stream({}, 100);
  const auto listener = std::make_shared<Listener>();
  stream.add(listener, std::nullopt, std::nullopt);
  stream.publish("slice", "a", "{}");
  stream.publish("event-opened", "a", "{\"x\":1}");
  EXPECT_EQ(listener->text,
            "retry: 3000\n\nid: 100\nevent: slice\ndata: {}\n\n"
            "id: 101\nevent: event-opened\ndata: {\"x\":1}\n\n");
}

TEST(EventStream, SendsAgainWhatWasMissedAndNothingElse) {
  EventStream stream({}, 100);
  for (int k = 0; k < 5; ++k) stream.publish("slice", k == 3 ? "b" : "a", std::to_string(k));
  const auto all = std::make_shared<Listener>(), filtered = std::make_shared<Listener>();
  stream.add(all, std::nullopt, 101);
  EXPECT_EQ(all->text,
            "retry: 3000\n\nid: 102\nevent: slice\ndata: 2\n\nid: 103\nevent: slice\ndata: 3\n\n"
            "id: 104\nevent: slice\ndata: 4\n\n");
  stream.add(filtered, "b", 101);
  EXPECT_EQ(filtered->text, "retry: 3000\n\nid: 103\nevent: slice\ndata: 3\n\n");
}

TEST(EventStream, SaysResetWhenWhatWasMissedIsGone) {
  EventStream stream({.most_messages = 3, .most_bytes = 1000}, 100);
  for (int k = 0; k < 5; ++k) stream.publish("slice", "a", "{}");
  for (std::uint64_t unknown : {std::uint64_t{100}, std::uint64_t{500}, ~std::uint64_t{0}}) {
    const auto listener = std::make_shared<Listener>();
    stream.add(listener, std::nullopt, unknown);
    EXPECT_TRUE(holds(*listener, "id: 104\nevent: reset")) << unknown << ": " << listener->text;
  }
  const auto known = std::make_shared<Listener>();
  stream.add(known, std::nullopt, 101);  // 102, 103 and 104 are there
  EXPECT_FALSE(holds(*known, "reset"));
  EXPECT_TRUE(holds(*known, "id: 102\n"));
}

TEST(EventStream, IsBoundedInBytes) {
  EventStream stream({.most_messages = 1000, .most_bytes = 200}, 1);
  for (int k = 0; k < 10; ++k) stream.publish("slice", "a", std::string(50, 'x'));
  const auto listener = std::make_shared<Listener>();
  stream.add(listener, std::nullopt, 1);
  EXPECT_TRUE(holds(*listener, "reset"));
  stream.publish("slice", "a", std::string(500, 'y'));  // larger than the ring: still sent
  EXPECT_TRUE(holds(*listener, std::string(500, 'y')));
}

TEST(EventStream, ForgetsClientsThatAreGone) {
  EventStream stream({}, 1);
  const auto stays = std::make_shared<Listener>(), goes = std::make_shared<Listener>();
  stream.add(stays, std::nullopt, std::nullopt);
  stream.add(goes, std::nullopt, std::nullopt);
  EXPECT_EQ(stream.clients(), 2u);
  goes->open = false;
  stream.heartbeat();
  EXPECT_EQ(stream.clients(), 1u);
  EXPECT_TRUE(holds(*stays, ": heartbeat\n\n"));
}

}  // namespace
}  // namespace outlierd::api
