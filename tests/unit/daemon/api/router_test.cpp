#include "daemon/api/router.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>
#include <set>

#include "daemon/api/openapi.h"
#include "tests/support/random.h"

namespace outlierd::api {
namespace {

using nlohmann::json;

tl::expected<Arguments, std::string> arguments(const std::string& path, const std::string& query) {
  const Match found = match("GET", path);
  EXPECT_TRUE(found.route) << path;
  return arguments_of(*found.route, found, query);
}

std::string problem(const std::string& query, const std::string& path = "/api/v1/events") {
  const auto result = arguments(path, query);
  return result ? "" : result.error();
}

TEST(Match, FindsRoutesAndTheirPathParameters) {
  EXPECT_EQ(match("GET", "/api/v1/networks/a%20b/matrix").path.at("network"), "a b");
  EXPECT_EQ(match("GET", "/api/v1/networks/a%2Fb").path.at("network"), "a/b");
  EXPECT_EQ(match("HEAD", "/api/v1/events").route, match("GET", "/api/v1/events").route);
  for (const char* nothing : {"", "/api", "/api/v1/events/", "/api/v1/networks//matrix", "//",
                              "/api/v1/networks/%zz", "*"})
    EXPECT_FALSE(match("GET", nothing).route) << nothing;
}

TEST(Match, SaysWhichMethodsAPathTakes) {
  const Match found = match("PUT", "/api/v1/silences");
  EXPECT_FALSE(found.route);
  EXPECT_EQ(found.allow, "GET, HEAD, POST, DELETE, OPTIONS");
  EXPECT_EQ(match("GET", "/nothing").allow, "");
}

TEST(Arguments, AreReadInTheirTypes) {
  const auto read = arguments("/api/v1/events",
                              "limit=20&from=2004-03-01T00:00:00Z&to=2004-03-01T01:00:00+01:00Z");
  EXPECT_FALSE(read);
  const auto good = arguments("/api/v1/events",
                              "limit=20&from=2004-03-01T00:00:00Z&to=2004-03-02T01:00:00+01:00");
  ASSERT_TRUE(good) << good.error();
  EXPECT_EQ(good->limit(), 20u);
  EXPECT_EQ(good->range().to - good->range().from, 86400);
  EXPECT_EQ(arguments("/api/v1/events", "")->limit(), 100u);
}

TEST(Arguments, SayWhatIsWrongAndWhatWouldBeRight) {
  EXPECT_EQ(problem("netwrok=a"), "\"netwrok\" is not a parameter here (did you mean network?)");
  EXPECT_EQ(problem("xyzzy=1"),
            "\"xyzzy\" is not a parameter here; it takes network, state, shape, from, to, limit, "
            "cursor");
  EXPECT_EQ(problem("x=1", "/api/v1/status"), "\"x\" is not a parameter here; it takes none");
  EXPECT_EQ(problem("limit=1&limit=2"), "limit is given twice");
  for (const char* bad : {"0", "1001", "-1", "1.5", "ten", "", "99999999999999999999"})
    EXPECT_EQ(problem(std::string("limit=") + bad),
              "limit must be a whole number between 1 and 1000");
  EXPECT_EQ(problem("state=opened"), "state must be one of pending, open, closed");
  EXPECT_EQ(problem("from=yesterday"), "from is not a time such as 2004-03-01T00:05:00Z");
  EXPECT_EQ(problem("from=2004-03-02T00:00:00Z&to=2004-03-01T00:00:00Z"),
            "from must lie before to");
  EXPECT_EQ(problem("network="), "network is empty");
  EXPECT_EQ(problem("network=%ff"), "network is not text");
  EXPECT_EQ(problem("network=%4"), "the query has a % without two hexadecimal digits");
  EXPECT_EQ(problem("cursor=00"), "cursor is not a cursor that was given out here");
  EXPECT_EQ(problem("origin=a", "/api/v1/networks/n/series"), "destination is needed");
  EXPECT_EQ(problem("what=observed,score,observed", "/api/v1/networks/n/matrix"),
            "what must be some of observed, expected, sparse, score, low, high, separated by "
            "commas");
  EXPECT_EQ(problem("min_score=nan", "/api/v1/anomalies"),
            "min_score must be a number between 0 and 1e+09");
}

TEST(Cursor, ComesBackAsThePlaceItWas) {
  for (const Place& place : {Place{0, "a"}, Place{-5, ""}, Place{1078099500, "x.y/z"}})
    EXPECT_EQ(place_of(cursor_of(place)), place);
  test::Random random(8);
  for (int round = 0; round < 2000; ++round) {  // nothing that comes in breaks it
    std::string noise;
    for (int k = random.index(40); k > 0; --k) noise += "0123456789abcdefg."[random.index(18)];
    (void)place_of(noise);
  }
}

TEST(OpenApi, HoldsEveryRouteAndNothingElse) {
  const json document = json::parse(openapi_document("1.2.3"));
  EXPECT_EQ(document["openapi"], "3.1.0");
  std::set<std::pair<std::string, std::string>> documented, routed;
  for (const auto& [path, operations] : document["paths"].items())
    for (const auto& [method, operation] : operations.items()) documented.emplace(path, method);
  for (const Route& route : routes()) {
    std::string method(route.method);
    for (char& c : method) c = char(std::tolower(c));
    routed.emplace(route.pattern, method);
  }
  EXPECT_EQ(documented, routed);
  EXPECT_EQ(routed.size(), routes().size()) << "a route is in the table twice";
}

TEST(OpenApi, NamesPathParametersAsThePatternDoes) {
  const json document = json::parse(openapi_document("1.2.3"));
  for (const auto& [path, operations] : document["paths"].items())
    for (const auto& [method, operation] : operations.items()) {
      std::set<std::string> in_pattern, declared;
      for (std::size_t at = path.find('{'); at != std::string::npos; at = path.find('{', at + 1))
        in_pattern.insert(path.substr(at + 1, path.find('}', at) - at - 1));
      for (const json& parameter : operation.value("parameters", json::array()))
        if (parameter["in"] == "path") declared.insert(parameter["name"]);
      EXPECT_EQ(in_pattern, declared) << method << " " << path;
    }
}

TEST(OpenApi, RefersOnlyToSchemasThatExistAndToAllOfThem) {
  const json document = json::parse(openapi_document("1.2.3"));
  std::set<std::string> used, defined;
  for (const auto& [name, schema] : document["components"]["schemas"].items())
    defined.insert("#/components/schemas/" + name);
  const std::function<void(const json&)> walk = [&](const json& node) {
    if (node.is_object() && node.contains("$ref")) used.insert(node["$ref"].get<std::string>());
    if (node.is_structured())
      for (const json& child : node) walk(child);
  };
  walk(document);
  EXPECT_EQ(used, defined);
}

TEST(OpenApi, GivesEveryOperationItsOwnId) {
  std::set<std::string_view> names;
  for (const Route& route : routes()) EXPECT_TRUE(names.insert(route.name).second) << route.name;
}

}  // namespace
}  // namespace outlierd::api
