#include <gtest/gtest.h>

#include <limits>
#include <nlohmann/json.hpp>

#include "daemon/api/json_names.h"
#include "tests/support/api_sample.h"
#include "tests/support/random.h"

namespace outlierd::api {
namespace {

using nlohmann::json;

TEST(JsonWriter, WritesNumbersThatComeBackAsTheyWere) {
  test::Random random(6);
  for (int round = 0; round < 1000; ++round) {
    const double value = random.normal() * std::pow(10.0, random.index(600) - 300);
    JsonWriter writer;
    writer.number(value);
    EXPECT_EQ(json::parse(writer.text()).get<double>(), value);
    JsonWriter single;
    single.number(float(random.normal()));
    EXPECT_LE(single.text().size(), 15u) << "not the shortest: " << single.text();
  }
}

TEST(JsonWriter, WritesWhatIsNoNumberAsNull) {
  JsonWriter writer;
  writer.begin_array().number(std::numeric_limits<double>::quiet_NaN());
  writer.number(std::numeric_limits<float>::infinity()).end_array();
  EXPECT_EQ(writer.text(), "[null,null]");
}

TEST(JsonWriter, EscapesTextAndRepairsBytesThatAreNotUtf8) {
  const auto written = [](std::string_view text) {
    JsonWriter writer;
    writer.string(text);
    return json::parse(writer.text()).get<std::string>();
  };
  const std::string all =
      "quote \" slash \\ line \n tab \t bell \x07 nul" + std::string(1, '\0') + "\xE2\x82\xAC";
  EXPECT_EQ(written(all), all);
  EXPECT_EQ(written("a\xFFz\xE2\x82"), "a\xEF\xBF\xBDz\xEF\xBF\xBD\xEF\xBF\xBD");
}

// The keys, in CONTRACT.md's order.
TEST(EventJson, HasThePromisedNames) {
  const Network network = test::sample_network();
  const EventRecord record = record_of(network, test::sample_event("e1", 300));
  JsonWriter writer;
  finish_event(writer, begin_event(record), std::nullopt, std::nullopt, false);
  const json event = json::parse(writer.text());
  EXPECT_EQ(event["id"], "e1");
  EXPECT_EQ(event["network"], "abilene");
  EXPECT_EQ(event["state"], "open");
  EXPECT_EQ(event["shape"], "ddos");
  EXPECT_EQ(event["direction"], "up");
  EXPECT_EQ(event["since"], "1970-01-01T00:05:00Z");
  EXPECT_EQ(event["opened"], "1970-01-01T00:05:00Z");
  EXPECT_TRUE(event["closed"].is_null());
  EXPECT_EQ(event["peak_score"], 12.4);
  EXPECT_EQ(event["excess"], 5120.0);
  EXPECT_EQ(event["origins"], json::parse(R"(["N0","N2"])"));
  EXPECT_EQ(event["destinations"], json::parse(R"(["N1"])"));
  EXPECT_EQ(event["cells"][1], json::parse(R"({"origin":"N2","destination":"N1","metric":"bytes",
      "observed":912.0,"expected":201.3,"score":9.1})"));
  EXPECT_TRUE(event["acknowledged"].is_null());
  EXPECT_EQ(event["silenced"], false);
  EXPECT_TRUE(event["feedback"].is_null());
  EXPECT_EQ(event.size(), 18u);
}

TEST(AnomalyJson, HasThePromisedNames) {
  const Network network = test::sample_network();
  JsonWriter writer;
  write(writer, record_of(network, test::sample_anomaly(300, 0, 1, 9.1)));
  json anomaly = json::parse(writer.text());
  EXPECT_EQ(anomaly["id"].get<std::string>().size(), 16u);
  anomaly.erase("id");
  EXPECT_EQ(anomaly, json::parse(R"({"network":"abilene","time":"1970-01-01T00:05:00Z",
      "metric":"bytes","origin":"N0","destination":"N1","observed":912.0,"expected":201.3,
      "low":120.1,"high":330.9,"sparse":694.0,"score":9.1,"direction":"up","event":"e1"})"));
}

TEST(AnomalyId, TellsCellsAndTimesApart) {
  const std::string id = anomaly_id("a", 300, "bytes", "N0", "N1");
  EXPECT_EQ(id, anomaly_id("a", 300, "bytes", "N0", "N1"));
  for (const std::string& other :
       {anomaly_id("b", 300, "bytes", "N0", "N1"), anomaly_id("a", 600, "bytes", "N0", "N1"),
        anomaly_id("a", 300, "packets", "N0", "N1"), anomaly_id("a", 300, "bytes", "N1", "N0"),
        anomaly_id("a", 300, "bytes", "N0N", "1")})
    EXPECT_NE(id, other);
}

TEST(Shapes, HaveTheWordsOfTheContract) {
  for (const char* word :
       {"spike", "drop", "ddos", "scan", "outage", "shift", "level", "network"}) {
    ASSERT_TRUE(shape_named(word)) << word;
    EXPECT_EQ(std::string_view(name_of(*shape_named(word))), word);
  }
  EXPECT_FALSE(shape_named("SPIKE"));
}

}  // namespace
}  // namespace outlierd::api
