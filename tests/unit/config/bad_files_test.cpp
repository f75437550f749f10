// The kinds of mistake people make, each with exactly what they are told.

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "config/load.h"

namespace outlierd::config {
namespace {

struct BadFile {
  std::string name;
  std::string yaml;
  std::vector<std::string> problems;  // "line:column: message", all of them, in order
};

// Two lines that are right, so that what follows begins in line 3.
const std::string kGood = "networks:\n  - {name: abilene, nodes: [ATLA, CHIN]}\n";
// A network whose further settings begin in line 4, column 5.
const std::string kNetwork = "networks:\n  - name: abilene\n    nodes: [ATLA, CHIN]\n";

const std::string kAstray =
    ": not valid YAML: this does not go on with what stands above: check indentation and quotes, "
    "and that \": \" follows a key";

const std::string kStrayColon =
    ": not valid YAML: a colon stands where no value can begin: quote a text that holds \": \", or "
    "give the line above its colon";

class BadFiles : public testing::TestWithParam<BadFile> {};

TEST_P(BadFiles, AreToldExactlyWhatIsWrong) {
  const auto loaded = load_text(GetParam().yaml);
  ASSERT_FALSE(loaded.has_value());
  std::vector<std::string> told;
  for (const Problem& problem : loaded.error()) told.push_back(format("f", problem).substr(2));
  EXPECT_EQ(told, GetParam().problems);
}

void PrintTo(const BadFile& file, std::ostream* out) { *out << file.yaml; }
std::string name_of(const testing::TestParamInfo<BadFile>& info) { return info.param.name; }

INSTANTIATE_TEST_SUITE_P(
    Document, BadFiles,
    testing::Values(
        BadFile{"Empty", "", {"1:1: the file is empty: at least networks: is needed"}},
        BadFile{"OnlyAComment",
                "# nothing\n",
                {"1:1: the file is empty: at least networks: is needed"}},
        BadFile{"NotAMapping",
                "- http\n",
                {"1:1: the file must be a mapping that begins with a key, such as networks:"}},
        BadFile{"Text",
                "hello\n",
                {"1:1: the file must be a mapping that begins with a key, such as networks:"}},
        BadFile{"TwoDocuments",
                kGood + "---\nlog: {level: info}\n",
                {"3:1: not valid YAML: the file goes on after the end of its document"}},
        BadFile{"Tab",
                "networks:\n\t- name: a\n",
                {"2:1: not valid YAML: a tab indents this line: use spaces"}},
        BadFile{"TabBeforeAKey",
                kGood + "log:\n  \tlevel: info\n",
                {"4:3: not valid YAML: a tab indents this line: use spaces"}},
        BadFile{"OpenBracket",
                "networks: [{name: abilene, nodes: [ATLA, CHIN]}\n",
                {"1:11: not valid YAML: this [ misses its ], or something in it needs quotes"}},
        BadFile{"OpenBrace",
                kGood + "store: {keep: 30d\nlog: {level: info}\n",
                {"3:8: not valid YAML: this { misses its }, or something in it needs quotes"}},
        BadFile{"OneBracketTooMany",
                kGood + "log: {level: info}}\n",
                {"3:19: not valid YAML: this bracket has nothing to close"}},
        BadFile{"OpenQuote",
                "log: {level: \"info}\n",
                {"1:14: not valid YAML: this quoted text misses its closing quote"}},
        BadFile{"OpenQuoteAtTheEnd",
                kGood + "store:\n  path: \"/var\n",
                {"4:9: not valid YAML: this quoted text misses its closing quote"}},
        BadFile{"OpenSingleQuote",
                kGood + "store:\n  path: '/var\nlog: {level: info}",
                {"4:9: not valid YAML: this quoted text misses its closing quote"}},
        BadFile{"Indentation", "log:\n  level: info\n format: text\n", {"3:2" + kAstray}},
        BadFile{"IndentationOfAListEntry",
                "networks:\n  - name: a\n  nodes: [A, B]\n",
                {"3:3" + kAstray}},
        BadFile{"Ipv6WithoutQuotes", kGood + "http:\n  listen: [::1]:9471\n", {"4:16" + kAstray}},
        BadFile{"NoSpaceAfterTheColon", kNetwork + "    bin:5m\n", {"4:5" + kAstray}},
        BadFile{"NoSpaceAfterTheDash",
                "networks:\n  - name: a\n    nodes:\n    - A\n    - B\n    -C\n",
                {"6:5" + kAstray}},
        BadFile{"ColonInValue", "store:\n  path: a: b\n", {"2:10" + kStrayColon}},
        BadFile{"NoColon", kNetwork + "    bin 5m\n    lateness: 1m\n", {"5:13" + kStrayColon}},
        BadFile{"UnknownAlias",
                "networks: *nets\n",
                {"1:11: not valid YAML: this alias names nothing: there is no such anchor before "
                 "it"}},
        BadFile{"AliasInsideItself",
                "networks: &all [*all]\n",
                {"1:17: not valid YAML: this alias lies inside what it names"}},
        BadFile{"EscapeOfNoCharacter",
                kGood + "store: {path: \"/a\\N\"}\n",
                {"3:15: not valid YAML: an escape (\\) in this text gives no character"}},
        BadFile{"NotUtf8", "log: \xff\n", {"1:6: this is not UTF-8 text"}},
        BadFile{"ControlCharacter",
                "log:\n  level: \x04\n",
                {"2:10: a control character does not belong into this file"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Keys, BadFiles,
    testing::Values(
        BadFile{"NoNetworks",
                "log: {level: info}\n",
                {"1:1: networks: at least one network is needed"}},
        BadFile{
            "NetworksLeftEmpty", "networks:\n", {"1:1: networks: at least one network is needed"}},
        BadFile{"NetworksAnEmptyList",
                "networks: []\n",
                {"1:11: networks: at least one network is needed"}},
        BadFile{"Typo",
                kNetwork + "    detection: {false_alarm_per_day: 4}\n",
                {"4:17: networks[0].detection.false_alarm_per_day: not a known setting (did you "
                 "mean false_alarms_per_day?)"}},
        BadFile{"TypoAtTheTop",
                kGood + "notifiy: []\n",
                {"3:1: notifiy: not a known setting (did you mean notify?)"}},
        BadFile{"SwappedLetters",
                kGood + "htpt: {}\n",
                {"3:1: htpt: not a known setting (did you mean http?)"}},
        BadFile{"NothingNear",
                kGood + "log: {destination: stderr}\n",
                {"3:7: log.destination: not a known setting (known here: format, level)"}},
        BadFile{"MergeKey",
                kNetwork + "    <<: {bin: 5m}\n",
                {"4:5: networks[0].<<: not a known setting (merging is not supported: write the "
                 "settings out)"}},
        BadFile{"NoSpaceAfterTheColonInBraces",
                kNetwork + "    model: {window:20}\n",
                {"4:13: networks[0].model.window:20: not a known setting (a colon and a space must "
                 "follow window)"}},
        BadFile{"Twice",
                kGood + "log: {level: info}\nlog: {level: warn}\n",
                {"4:1: log: stands twice, first in line 3: keep one"}},
        BadFile{"TwiceInside",
                kNetwork + "    bin: 5m\n    bin: 1m\n",
                {"5:5: networks[0].bin: stands twice, first in line 4: keep one"}},
        BadFile{"KeyIsAList", kGood + "[a, b]: 1\n", {"3:1: a key must be a single word"}},
        BadFile{"MappingNotAList",
                "networks: {name: abilene, nodes: [ATLA, CHIN]}\n",
                {"1:11: networks: must be a list, not a mapping: begin each entry with \"- \""}},
        BadFile{"TextNotAList",
                kNetwork + "    metrics: bytes\n",
                {"4:14: networks[0].metrics: must be a list, such as [first, second]"}},
        BadFile{"ListNotAMapping",
                kGood + "store: [path]\n",
                {"3:8: store: must be a mapping (key: value), not a list"}},
        BadFile{"TextNotAMapping",
                kGood + "http: 127.0.0.1:9471\n",
                {"3:7: http: must be a mapping (key: value), not a single value"}},
        BadFile{"MappingNotAValue",
                kGood + "log: {level: {info: 1}}\n",
                {"3:14: log.level: must be a single value, not a mapping"}},
        BadFile{"ListNotAValue",
                kNetwork + "    bin: [5m]\n",
                {"4:10: networks[0].bin: must be a single value, not a list"}},
        BadFile{"EmptyText", kGood + "store: {path: \"\"}\n", {"3:15: store.path: is empty"}},
        BadFile{"EmptyEntry",
                "networks:\n  - name: a\n    nodes:\n      - A\n      -\n      - B\n",
                {"4:7: networks[0].nodes[1]: is empty"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Values, BadFiles,
    testing::Values(
        BadFile{"NotANumber",
                kNetwork + "    detection: {false_alarms_per_day: few}\n",
                {"4:39: networks[0].detection.false_alarms_per_day: must be a number from 0.001 to "
                 "1000"}},
        BadFile{"NaN",
                kNetwork + "    detection: {minimum_share: .nan}\n",
                {"4:32: networks[0].detection.minimum_share: must be a number from 0 to 1"}},
        BadFile{"WrittenNaN",
                kNetwork + "    detection: {minimum_share: nan}\n",
                {"4:32: networks[0].detection.minimum_share: must be a number from 0 to 1"}},
        BadFile{"Infinity",
                kNetwork + "    model: {forgetting: inf}\n",
                {"4:25: networks[0].model.forgetting: must be a number"}},
        BadFile{"Percent",
                kNetwork + "    detection: {minimum_share: 1%}\n",
                {"4:32: networks[0].detection.minimum_share: must be a number from 0 to 1"}},
        BadFile{"Fraction",
                kNetwork + "    detection: {close_after_slices: 2.5}\n",
                {"4:37: networks[0].detection.close_after_slices: must be a whole number from 1 to "
                 "1000"}},
        BadFile{"UnknownMethod",
                kNetwork + "    detection: {method: ewma+calibrate}\n",
                {"4:25: networks[0].detection.method: must be a method that outlierctl replay "
                 "--help lists (did you mean ewma+calibrated?)"}},
        BadFile{"OutOfRangeInCore",
                kNetwork + "    model: {max_rank: 65}\n",
                {"4:23: networks[0].model.max_rank: must be between 1 and 64"}},
        BadFile{"TooManyDigits",
                kGood + "http: {max_connections: 99999999999999999999}\n",
                {"3:25: http.max_connections: must be a whole number from 1 to 1000000"}},
        BadFile{"DurationWithoutUnit",
                kNetwork + "    bin: 300\n",
                {"4:10: networks[0].bin: needs a unit, such as 300s (ms, s, m, h or d)"}},
        BadFile{"DurationInWords",
                kNetwork + "    lateness: 5 minutes\n",
                {"4:15: networks[0].lateness: must be a whole number with its unit (ms, s, m, h or "
                 "d), such as 30s or 5m"}},
        BadFile{"DurationNegative",
                kNetwork + "    lateness: -5s\n",
                {"4:15: networks[0].lateness: must be a whole number with its unit (ms, s, m, h or "
                 "d), such as 30s or 5m"}},
        BadFile{"DurationTooFine",
                kNetwork + "    lateness: 1500ms\n",
                {"4:15: networks[0].lateness: must be whole seconds"}},
        BadFile{"DurationTooLong",
                kGood + "store: {keep: 99999d}\n",
                {"3:15: store.keep: must be from 1h to 3650d"}},
        BadFile{"SizeWithoutUnit",
                kGood + "store: {max_size: 10000000000}\n",
                {"3:19: store.max_size: needs a unit, such as 10000000000B or 64MiB"}},
        BadFile{"SizeInShort",
                kGood + "store: {max_size: 10G}\n",
                {"3:19: store.max_size: must be a whole number with its unit (B, KiB, MiB, GiB, "
                 "TiB, kB, MB, GB, TB), such as 64MiB"}},
        BadFile{"SizeTooSmall",
                kGood + "http: {max_body: 10B}\n",
                {"3:18: http.max_body: must be from 1KiB to 4GiB"}},
        BadFile{"NotABoolean",
                kGood + "http: {allow_anonymous: maybe}\n",
                {"3:25: http.allow_anonymous: must be true or false"}},
        BadFile{"NotALevel",
                kGood + "log: {level: warning}\n",
                {"3:14: log.level: must be trace, debug, info, warn or error"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Networks, BadFiles,
    testing::Values(
        BadFile{"NoName",
                "networks:\n  - nodes: [A, B]\n",
                {"2:5: networks[0].name: is needed: what to call this network"}},
        BadFile{"NoNodes",
                "networks:\n  - name: a\n",
                {"2:5: networks[0].nodes: at least two nodes are needed, such as [ATLA, CHIN]"}},
        BadFile{"OneNode",
                "networks:\n  - {name: a, nodes: [A]}\n",
                {"2:22: networks[0].nodes: at least two nodes are needed, such as [ATLA, CHIN]"}},
        BadFile{"NameWithASpace",
                "networks:\n  - {name: my network, nodes: [A, B]}\n",
                {"2:12: networks[0].name: must be a name of letters, digits, . _ and -, at most 64 "
                 "of them"}},
        BadFile{
            "NodeWithASlash",
            "networks:\n  - {name: a, nodes: [A/1, B]}\n",
            {"2:23: networks[0].nodes[0]: must be a name of letters, digits, . _ and -, at most "
             "64 of them"}},
        BadFile{"NodeTwice",
                "networks:\n  - {name: a, nodes: [A, B, A]}\n",
                {"2:29: networks[0].nodes[2]: A stands twice in the list"}},
        BadFile{"NetworkTwice",
                kGood + "  - {name: abilene, nodes: [A, B]}\n",
                {"3:5: networks[1].name: abilene is already the name of the network in line 2"}},
        BadFile{"NetworkIsText",
                "networks: [abilene]\n",
                {"1:12: networks[0]: must be a mapping (key: value), not a single value"}},
        BadFile{"BinDividesNoDay",
                kNetwork + "    bin: 7m\n",
                {"4:10: networks[0].bin: must divide a day evenly, such as 1m, 5m, 10m, 15m or "
                 "1h"}},
        BadFile{"BinTooShort",
                kNetwork + "    bin: 1s\n",
                {"4:10: networks[0].bin: must be from 10s to 1h"}},
        BadFile{"LatenessTooLong",
                kNetwork + "    lateness: 2d\n",
                {"4:15: networks[0].lateness: must be from 0ms to 1d"}},
        BadFile{"TimeZoneLeavesTheFolder",
                kNetwork + "    time_zone: ../../../etc/passwd\n",
                {"4:16: networks[0].time_zone: must be the name of a time zone, such as UTC or "
                 "Europe/Berlin"}},
        BadFile{"UnknownMetric",
                kNetwork + "    metrics: [bytes, octets]\n",
                {"4:22: networks[0].metrics[1]: must be bytes, packets or flows, not octets"}},
        BadFile{"NoMetric",
                kNetwork + "    metrics: []\n",
                {"4:14: networks[0].metrics: must name at least one: bytes, packets, flows"}},
        BadFile{"SourceTwice",
                kNetwork + "    sources: [c1, c1]\n",
                {"4:19: networks[0].sources[1]: c1 stands twice in the list"}},
        BadFile{"UnknownNode",
                kNetwork + "    node_map: {prefixes: {192.0.2.0/24: ATLNA}}\n",
                {"4:41: networks[0].node_map.prefixes.192.0.2.0/24: no node is called ATLNA (did "
                 "you mean ATLA?)"}},
        BadFile{"PrefixWithoutNode",
                kNetwork + "    node_map:\n      prefixes:\n        192.0.2.0/24:\n    bin: 5m\n",
                {"6:9: networks[0].node_map.prefixes.192.0.2.0/24: needs a node after it"}},
        BadFile{"PrefixWithHostBits",
                kNetwork + "    node_map: {prefixes: {192.0.2.1/24: ATLA}}\n",
                {"4:27: networks[0].node_map.prefixes.192.0.2.1/24: has bits set beyond its "
                 "length; the prefix is 192.0.2.0/24"}},
        BadFile{"PrefixTooLong",
                kNetwork + "    node_map: {prefixes: {192.0.2.0/33: ATLA}}\n",
                {"4:27: networks[0].node_map.prefixes.192.0.2.0/33: must have a length from 0 to "
                 "32 after the slash"}},
        BadFile{"PrefixTwiceInTwoWays",
                kNetwork + "    node_map:\n      prefixes:\n        2001:db8::/32: ATLA\n        "
                           "2001:0db8::/32: CHIN\n",
                {"7:9: networks[0].node_map.prefixes.2001:0db8::/32: stands twice, the first time "
                 "written in another way"}},
        BadFile{"ExporterIsAPrefix",
                kNetwork + "    node_map: {exporters: {192.0.2.0/24: ATLA}}\n",
                {"4:28: networks[0].node_map.exporters.192.0.2.0/24: must be an IP address, or one "
                 "with its interface, such as \"198.51.100.2/ifindex 7\""}},
        BadFile{"NextHopIsAName",
                kNetwork + "    node_map: {next_hops: {router1: ATLA}}\n",
                {"4:28: networks[0].node_map.next_hops.router1: must be an IP address, such as "
                 "203.0.113.1"}},
        BadFile{"UnknownSampling",
                kNetwork + "    sampling: {unknown: guess}\n",
                {"4:25: networks[0].sampling.unknown: must be reject, last_known or {assume: "
                 "1000}"}},
        BadFile{"AssumedZero",
                kNetwork + "    sampling: {unknown: {assume: 0}}\n",
                {"4:34: networks[0].sampling.unknown.assume: must be a whole number from 1 on: one "
                 "packet in how many is sampled"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Listeners, BadFiles,
    testing::Values(
        BadFile{"HttpWithAScheme",
                kGood + "http: {listen: \"http://127.0.0.1:9471\"}\n",
                {"3:16: http.listen: must be ADDRESS:PORT without a scheme, such as "
                 "127.0.0.1:9471"}},
        BadFile{"HttpWithoutAPort",
                kGood + "http: {listen: 127.0.0.1}\n",
                {"3:16: http.listen: needs a port after the host, such as 127.0.0.1:9470"}},
        BadFile{"HttpOnlyAPort",
                kGood + "http: {listen: 9471}\n",
                {"3:16: http.listen: needs a port after the host, such as 127.0.0.1:9470"}},
        BadFile{"PortTooLarge",
                kGood + "http: {listen: 127.0.0.1:94710}\n",
                {"3:16: http.listen: must have a port from 0 to 65535"}},
        BadFile{"NoSuchAddress",
                kGood + "http: {listen: 127.0.0.256:9471}\n",
                {"3:16: http.listen: must have an IP address to listen on, such as 127.0.0.1, "
                 "0.0.0.0 or [::1]"}},
        BadFile{"Ipv6WithoutBrackets",
                kGood + "matrices: [{listen: \"tcp://::1:9470\"}]\n",
                {"3:21: matrices[0].listen: must have an IPv6 address in brackets, such as "
                 "[::1]:9470"}},
        BadFile{"HttpForEveryone",
                kGood + "http: {listen: 0.0.0.0:9471}\n",
                {"3:16: http.listen: is reachable from other machines without a token: set "
                 "tokens_file, or write allow_anonymous: true to let anyone in"}},
        BadFile{"MatricesForEveryone",
                kGood + "matrices:\n  - listen: tcp://[::]:9470\n",
                {"4:13: matrices[0].listen: is reachable from other machines without a token: set "
                 "tokens_file, or write allow_anonymous: true to let anyone in"}},
        BadFile{"MatricesOverUdp",
                kGood + "matrices:\n  - listen: udp://127.0.0.1:9470\n",
                {"4:13: matrices[0].listen: must be tcp://HOST:PORT, tls://HOST:PORT or "
                 "unix:/PATH"}},
        BadFile{"MatricesWithoutListen",
                kGood + "matrices:\n  - tokens_file: /etc/outlierd/tokens\n",
                {"4:5: matrices[0].listen: is needed, such as tcp://127.0.0.1:9470"}},
        BadFile{"RelativeSocket",
                kGood + "matrices:\n  - listen: unix:matrices.sock\n",
                {"4:13: matrices[0].listen: must have an absolute path after unix:, such as "
                 "unix:/run/outlierd/x.sock"}},
        BadFile{"CertificateWithoutKey",
                kGood + "http: {tls: {certificate_file: c.pem}}\n",
                {"3:13: http.tls.key_file: is needed beside certificate_file"}},
        BadFile{"KeyWithoutCertificate",
                kGood + "http: {tls: {certificate_file: , key_file: k.pem}}\n",
                {"3:14: http.tls.certificate_file: is needed beside key_file"}},
        BadFile{"TlsWithoutCertificate",
                kGood + "matrices: [{listen: \"tls://127.0.0.1:9470\"}]\n",
                {"3:21: matrices[0].listen: needs tls: {certificate_file: FILE, key_file: FILE} "
                 "beside it"}},
        BadFile{"CertificateForTcp",
                kGood +
                    "matrices:\n  - listen: tcp://127.0.0.1:9470\n    tls: {certificate_file: c, "
                    "key_file: k}\n",
                {"5:10: matrices[0].tls: is only for tls:// listeners"}},
        BadFile{"PortTwice",
                kGood + "matrices:\n  - listen: tcp://127.0.0.1:9470\n  - listen: "
                        "tcp://127.0.0.1:9470\n",
                {"5:13: matrices[1].listen: is already taken by matrices[0].listen in line 4"}},
        BadFile{
            "PortOfEveryAddress",
            kGood +
                "http: {listen: 127.0.0.1:9470}\nmatrices:\n  - {listen: \"tcp://0.0.0.0:9470\", "
                "allow_anonymous: true}\n",
            {"5:14: matrices[0].listen: is already taken by http.listen in line 3"}},
        BadFile{"PortOfADefault",
                kGood + "http: {listen: 127.0.0.1:9470}\n",
                {"3:16: http.listen: is already taken by matrices[0].listen, which is "
                 "tcp://127.0.0.1:9470 by default"}},
        BadFile{"FlowsFromAnyone",
                kGood + "flows:\n  - {listen: \"udp://0.0.0.0:2055\", protocol: netflow}\n",
                {"4:14: flows[0].listen: is reachable from other machines: name who may send, such "
                 "as exporters: [192.0.2.0/24]"}},
        BadFile{"FlowsFromNobody",
                kGood +
                    "flows:\n  - {listen: \"udp://0.0.0.0:2055\", protocol: netflow, exporters: "
                    "[]}\n",
                {"4:66: flows[0].exporters: must name at least one prefix for a listener that "
                 "other machines reach"}},
        BadFile{"ExporterIsAName",
                kGood +
                    "flows:\n  - {listen: \"udp://0.0.0.0:2055\", protocol: netflow, exporters: "
                    "[router1]}\n",
                {"4:67: flows[0].exporters[0]: must be a prefix, such as 192.0.2.0/24 or "
                 "2001:db8::/32"}},
        BadFile{"FlowsOfNoProtocol",
                kGood + "flows:\n  - {listen: \"udp://127.0.0.1:2055\"}\n",
                {"4:5: flows[0].protocol: is needed: netflow, sflow or json"}},
        BadFile{"FlowsOfAnotherProtocol",
                kGood + "flows:\n  - {listen: \"udp://127.0.0.1:2055\", protocol: ipfix}\n",
                {"4:48: flows[0].protocol: must be netflow, sflow or json"}},
        BadFile{"NetflowOverTcp",
                kGood + "flows:\n  - {listen: \"tcp://127.0.0.1:2055\", protocol: netflow}\n",
                {"4:14: flows[0].listen: must be udp://HOST:PORT for netflow"}},
        BadFile{"FlowsOfAnUnknownNetwork",
                kGood +
                    "flows:\n  - {listen: \"udp://127.0.0.1:2055\", protocol: netflow, network: "
                    "abilen}\n",
                {"4:66: flows[0].network: no network is called abilen (did you mean abilene?)"}},
        BadFile{"FlowsOfOneOfTwoNetworks",
                kGood + "  - {name: geant, nodes: [A, B]}\nflows:\n  - {listen: "
                        "\"udp://127.0.0.1:2055\", protocol: netflow}\n",
                {"5:5: flows[0].network: is needed: the network that these flows belong to"}}),
    name_of);

INSTANTIATE_TEST_SUITE_P(
    Notifiers, BadFiles,
    testing::Values(
        BadFile{"NoKind",
                kGood + "notify:\n  - {token_file: t}\n",
                {"4:5: notify[0]: must have exactly one of alertmanager, webhook and syslog",
                 "4:18: notify[0].token_file: is only for a webhook"}},
        BadFile{"TwoKinds",
                kGood + "notify:\n  - {alertmanager: \"http://a\", webhook: \"http://b\"}\n",
                {"4:5: notify[0]: must have exactly one of alertmanager, webhook and syslog"}},
        BadFile{"NoScheme",
                kGood + "notify: [{alertmanager: \"127.0.0.1:9093\"}]\n",
                {"3:25: notify[0].alertmanager: must be a URL that begins with http:// or "
                 "https://"}},
        BadFile{"SyslogWithoutAPort",
                kGood + "notify: [{syslog: \"udp://127.0.0.1\"}]\n",
                {"3:19: notify[0].syslog: needs a port after the host, such as 127.0.0.1:9470"}},
        BadFile{"HiddenSecret",
                kGood + "notify: [{webhook: \"https://me:<secret>@example.net\"}]\n",
                {"3:20: notify[0].webhook: has a character that a URL cannot hold"}}),
    name_of);

TEST(BadFile, WithManyMistakesIsToldAllOfThemInTheOrderOfTheFile) {
  const auto loaded = load_text(
      "log: {level: loud, format: xml}\n"
      "htttp: {}\n"
      "networks:\n"
      "  - name: a b\n"
      "    nodes: [A]\n"
      "    bin: 5\n"
      "    bin: 7m\n"
      "store: {keep: ever}\n");
  ASSERT_FALSE(loaded.has_value());
  std::vector<std::pair<int, int>> places;
  for (const Problem& problem : loaded.error()) places.emplace_back(problem.line, problem.column);
  const std::vector<std::pair<int, int>> expected = {{1, 14}, {1, 28}, {2, 1}, {4, 11},
                                                     {5, 12}, {6, 10}, {7, 5}, {8, 15}};
  EXPECT_EQ(places, expected);
}

TEST(BadFile, NeverRepeatsAPassword) {
  const auto loaded =
      load_text(kGood +
                "notify: [{webhook: \"https://me:hunter2@exa mple.net\"}, {webhook: "
                "\"ftp://me:hunter2@example.net\"}, {syslog: \"me:hunter2@x\"}]\n");
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().size(), 3u);
  for (const Problem& problem : loaded.error())
    EXPECT_EQ(problem.message.find("hunter2"), std::string::npos) << problem.message;
}

TEST(BadFile, CannotUnfoldWithoutBound) {
  std::string yaml = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
  for (int k = 1; k < 12; ++k) {
    const std::string before = "*a" + std::to_string(k - 1);
    yaml += "a" + std::to_string(k) + ": &a" + std::to_string(k) + " [" + before;
    for (int copy = 0; copy < 9; ++copy) yaml += ", " + before;
    yaml += "]\n";
  }
  const auto loaded = load_text(yaml);
  ASSERT_FALSE(loaded.has_value());
  ASSERT_EQ(loaded.error().size(), 1u);
  EXPECT_EQ(loaded.error()[0].message,
            "not valid YAML: the aliases unfold to more than a million values");
}

TEST(BadFile, NestedDeeplyIsRefused) {
  EXPECT_FALSE(load_text(std::string(100000, '[')).has_value());
  EXPECT_FALSE(load_text("a: " + std::string(100000, '{')).has_value());
}

}  // namespace
}  // namespace outlierd::config
