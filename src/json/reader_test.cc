#include "json/reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <optional>
#include <sstream>

#include "json/fields.h"
#include "json/value.h"

namespace mainspring::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Pair;

struct Container {
  std::string name;
  std::map<std::string, std::string> limits;
  std::optional<std::int32_t> port;
};
constexpr auto json_fields(Tag<Container>) {
  return fields(field("name", &Container::name),
                group("resources", field("limits", &Container::limits)),
                field("port", &Container::port));
}

struct Pod {
  std::string name;
  bool host_network = true;
  std::uint64_t generation = 0;
  double weight = 0;
  std::vector<Container> containers;
  Value affinity;
};
constexpr auto json_fields(Tag<Pod>) {
  return fields(
      group("metadata", field("name", &Pod::name), field("generation", &Pod::generation)),
      group("spec", field("hostNetwork", &Pod::host_network), field("weight", &Pod::weight),
            field("containers", &Pod::containers), field("affinity", &Pod::affinity)));
}

struct Pods {
  std::vector<Pod> items;
};
constexpr auto json_fields(Tag<Pods>) { return fields(field("items", &Pods::items)); }

template <class T>
std::string refusal(std::string_view text) {
  Reader reader;
  auto value = decode<T>(reader, text);
  return value ? "accepted" : value.error().to_string();
}

std::string sample(const std::string& name) {
  std::ifstream file(std::string(MAINSPRING_TEST_DATA) + "/slurm-rest/" + name);
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

TEST(Reader, DecodesAProjectionAndSkipsTheRest) {
  Reader reader;
  const auto pod = decode<Pod>(reader, R"({
    "kind": "Pod",
    "metadata": {"managedFields": [{"f:a": {"x": [1, "]}", {}]}}], "name": "gpu\u002d0",
                 "generation": 18446744073709551615},
    "spec": {"hostNetwork": false, "weight": 1.5e2,
             "containers": [{"name": "slurmd", "resources": {"limits": {"cpu": "4", "mem": "8Gi"}}},
                            {"name": "log", "port": 6818, "extra": null}],
             "affinity": {"keep": [1, 2.5, "x"]}}
  })");
  ASSERT_TRUE(pod) << pod.error().to_string();
  EXPECT_EQ(pod->name, "gpu-0");
  EXPECT_FALSE(pod->host_network);
  EXPECT_EQ(pod->generation, 18446744073709551615U);
  EXPECT_EQ(pod->weight, 150);
  ASSERT_EQ(pod->containers.size(), 2U);
  EXPECT_THAT(pod->containers[0].limits, ElementsAre(Pair("cpu", "4"), Pair("mem", "8Gi")));
  EXPECT_EQ(pod->containers[1].port, 6818);
  EXPECT_EQ(to_text(pod->affinity), R"({"keep":[1,2.5,"x"]})");
}

TEST(Reader, TakesNullForAbsent) {
  Reader reader;
  const auto pod = decode<Pod>(
      reader,
      R"({"metadata":null,"spec":{"hostNetwork":null,"containers":[{"name":null}],"weight":null}})");
  ASSERT_TRUE(pod) << pod.error().to_string();
  EXPECT_TRUE(pod->host_network);
  EXPECT_EQ(pod->containers.size(), 1U);
}

TEST(Reader, SaysWhereAndWhatItFound) {
  EXPECT_EQ(refusal<Pods>(R"({"items":[{},{"spec":{"containers":[{"name":7}]}}]})"),
            "items[1].spec.containers[0].name: expected a string, found a number (at byte 44)");
  EXPECT_THAT(refusal<Pod>(R"({"spec":{"containers":{}}})"),
              HasSubstr("spec.containers: expected an array, found an object"));
  EXPECT_THAT(refusal<Pod>(R"({"spec":{"containers":[{"resources":{"limits":{"a/b":1}}}]}})"),
              HasSubstr("spec.containers[0].resources.limits[\"a/b\"]: expected a string"));
  EXPECT_THAT(refusal<Pod>("[]"), HasSubstr("document: expected an object, found an array"));
}

TEST(Reader, NamesANumberThatDoesNotFit) {
  EXPECT_THAT(refusal<Pod>(R"({"spec":{"containers":[{"port":2147483648}]}})"),
              HasSubstr("expected an integer from -2147483648 to 2147483647, found '2147483648'"));
  EXPECT_THAT(refusal<Pod>(R"({"metadata":{"generation":-1}})"), HasSubstr("found '-1'"));
  EXPECT_THAT(refusal<Pod>(R"({"metadata":{"generation":1.5}})"), HasSubstr("found '1.5'"));
  EXPECT_THAT(refusal<Pod>(R"({"spec":{"weight":1e400}})"), HasSubstr("'1e400' is out of range"));
  EXPECT_THAT(refusal<Pod>("{\"spec\":{\"weight\":" + std::string(5000, '9') + "}}"),
              HasSubstr("(5000 characters)"));
}

TEST(Reader, RefusesAKnownKeyThatComesTwice) {
  EXPECT_THAT(refusal<Pod>(R"({"metadata":{"name":"a","uid":1,"uid":2,"name":"b"}})"),
              HasSubstr("metadata.name: the key \"name\" appears twice"));
  EXPECT_THAT(refusal<Container>(R"({"resources":{"limits":{"cpu":"1","cpu":"2"}}})"),
              HasSubstr("appears twice"));
}

TEST(Reader, RefusesBrokenDocuments) {
  for (const char* bad : {"",
                          " ",
                          "{",
                          "{\"a\"",
                          "{\"a\":",
                          "{\"a\":1",
                          "{\"a\":1,",
                          "{\"a\":[1}",
                          "{\"a\":[{]}}",
                          "{\"a\":1}}",
                          "{\"a\":1} 2",
                          "{\"name\":\"x\" \"port\":1}",
                          "{\"name\" \"x\"}",
                          "{1:2}",
                          "{\"name\":\"\\q\"}",
                          "{\"name\":\"\\ud83d\"}",
                          "{\"name\":\"x",
                          "{\"port\":tru}",
                          "{\"port\":12x}",
                          "{\"port\":012}",
                          "{\"port\":nul}",
                          "{\"port\":nulls}",
                          "{\"port\":}",
                          "{\"port\":,}",
                          "{\"name\":\"\xFF\"}",
                          "{\"other\":\"\xFF\"}",
                          "{\"name\":\"\x02\"}"}) {
    EXPECT_NE(refusal<Container>(bad), "accepted") << bad;
  }
}

TEST(Reader, LimitsDepthWhetherItReadsOrSkips) {
  const std::string deep = std::string(600, '[') + std::string(600, ']');
  Reader reader;
  reader.open("{\"skipped\":" + deep + "}");
  reader.object([](std::string_view) {});
  const auto skipped = reader.finish();
  ASSERT_FALSE(skipped);
  EXPECT_EQ(skipped.error().code(), Code::kTooLarge);

  reader.open(deep);
  Value value;
  EXPECT_FALSE(read(reader, value));
  EXPECT_THAT(reader.finish().error().to_string(), HasSubstr("nested deeper than 512 levels"));
}

TEST(Reader, LimitsTheSizeOfADocument) {
  Reader reader(Reader::Options{.max_bytes = 10});
  for (const bool copied : {true, false}) {
    const std::string text = R"({"a":12345678})";
    copied ? reader.open(text) : reader.adopt(text);
    EXPECT_EQ(reader.kind(), Reader::Kind::kNothing);
    ASSERT_FALSE(reader.finish());
    EXPECT_EQ(reader.finish().error().code(), Code::kTooLarge);
  }
  reader.open("[1]");
  EXPECT_TRUE(reader.skip());
  EXPECT_TRUE(reader.finish());
}

TEST(Reader, StaysFailedUntilTheNextDocument) {
  Reader reader;
  reader.open(R"({"a":1,"b":2})");
  int calls = 0;
  reader.object([&](std::string_view) {
    ++calls;
    std::string text;
    EXPECT_FALSE(reader.read(text));
    EXPECT_FALSE(reader.skip());
  });
  EXPECT_EQ(calls, 1);
  EXPECT_THAT(reader.finish().error().to_string(), HasSubstr("a: expected a string"));

  reader.open(R"("fine")");
  std::string_view text;
  EXPECT_TRUE(reader.read(text));
  EXPECT_EQ(text, "fine");
  EXPECT_TRUE(reader.finish());
}

TEST(Reader, DecodesWatchLinesOneAfterTheOther) {
  Reader reader;
  for (int i = 0; i < 3; ++i) {
    const std::string name = "pod-" + std::to_string(i);
    reader.open(R"({"type":"ADDED","object":{"metadata":{"name":")" + name + "\"}}}\n");
    std::string type;
    Pod pod;
    reader.object([&](std::string_view key) {
      if (key == "type") {
        reader.read(type);
      } else if (key == "object") {
        read(reader, pod);
      }
    });
    ASSERT_TRUE(reader.finish());
    EXPECT_EQ(type, "ADDED");
    EXPECT_EQ(pod.name, name);
  }
}

TEST(Reader, CapturesASubtreeAsText) {
  Reader reader;
  reader.open(R"({"a": {"x": [1, "}"]} , "b": 12 , "c": "s" })");
  std::map<std::string, std::string> parts;
  reader.object([&](std::string_view key) {
    std::string_view text;
    EXPECT_TRUE(reader.raw(text));
    parts.emplace(key, text);
  });
  ASSERT_TRUE(reader.finish());
  EXPECT_THAT(parts,
              ElementsAre(Pair("a", R"({"x": [1, "}"]})"), Pair("b", "12"), Pair("c", "\"s\"")));
}

TEST(Reader, UnescapesKeysAndStrings) {
  Reader reader;
  const auto map = decode<std::map<std::string, std::string>>(
      reader,
      R"({"\u006b\n":"\"\\\/\b\f\r\t","e":"\u20ac \ud83d\ude00 \u0000","long":"0123456789012345678901234567890123456789\n"})");
  ASSERT_TRUE(map) << map.error().to_string();
  EXPECT_THAT(*map, ElementsAre(Pair("e", std::string("\u20ac \U0001F600 \0", 10)),
                                Pair("k\n", "\"\\/\b\f\r\t"),
                                Pair("long", "0123456789012345678901234567890123456789\n")));
}

TEST(Reader, LetsAProjectionRefuseAValue) {
  Reader reader;
  reader.open(R"({"cpu":"four"})");
  reader.object([&](std::string_view) {
    std::string_view text;
    if (reader.read(text)) reader.refuse("not a quantity");
  });
  EXPECT_THAT(reader.finish().error().to_string(), HasSubstr("cpu: not a quantity"));
}

TEST(Reader, SurvivesALargeDocumentAmongSmallOnes) {
  std::string large = "[0";
  for (int i = 1; i < 1'000'000; ++i) large += "," + std::to_string(i);
  large += "]";
  Reader reader;
  for (int round = 0; round < 2; ++round) {
    reader.open("[1]");
    EXPECT_TRUE(reader.skip());
    EXPECT_TRUE(reader.finish());
    std::int64_t sum = 0;
    reader.adopt(large);
    reader.array([&] {
      std::int64_t n = 0;
      reader.read(n);
      sum += n;
    });
    EXPECT_TRUE(reader.finish());
    EXPECT_EQ(sum, 499'999'500'000);
  }
}

struct SlurmNode {
  std::string name;
  std::vector<std::string> state;
  std::int64_t cpus = 0;
  std::optional<std::int64_t> boot_time;
};
constexpr auto json_fields(Tag<SlurmNode>) {
  return fields(field("name", &SlurmNode::name), field("state", &SlurmNode::state),
                field("cpus", &SlurmNode::cpus),
                group("boot_time", field("number", &SlurmNode::boot_time)));
}
struct SlurmNodes {
  std::vector<SlurmNode> nodes;
};
constexpr auto json_fields(Tag<SlurmNodes>) { return fields(field("nodes", &SlurmNodes::nodes)); }

TEST(Reader, DecodesARecordedAnswerOfSlurm) {
  Reader reader;
  const auto answer = decode<SlurmNodes>(reader, sample("nodes.json"));
  ASSERT_TRUE(answer) << answer.error().to_string();
  ASSERT_FALSE(answer->nodes.empty());
  EXPECT_EQ(answer->nodes[0].name, "node3");
  EXPECT_THAT(answer->nodes[0].state, ElementsAre("IDLE", "DYNAMIC_NORM"));
  EXPECT_EQ(answer->nodes[0].cpus, 8);
  EXPECT_EQ(answer->nodes[0].boot_time, 1794769711);
}

TEST(Reader, AgreesWithValueOnRecordedAnswers) {
  for (const char* name : {"nodes.json", "jobs_state.json", "node_not_found.json"}) {
    const std::string text = sample(name);
    auto value = parse(text);
    ASSERT_TRUE(value) << name << ": " << value.error().to_string();
    EXPECT_EQ(*value, *parse(to_text(*value)));
  }
}

TEST(Fields, TakesEveryKeyAndNoOther) {
  Reader reader;
  // Keys that share length and end letters with those of the table land in the same places.
  const auto pod = decode<Container>(
      reader, R"({"nxme":"a","nama":"b","":"c","resourcez":1,"pirt":5,"name":"right","port":1})");
  ASSERT_TRUE(pod) << pod.error().to_string();
  EXPECT_EQ(pod->name, "right");
  EXPECT_EQ(pod->port, 1);
}

TEST(Fields, ReadsWhatStoresKeep) {
  Reader reader;
  const auto pods = decode<std::vector<std::shared_ptr<const Container>>>(
      reader, R"([{"name":"a"},null,{"name":"b"}])");
  ASSERT_TRUE(pods) << pods.error().to_string();
  ASSERT_EQ(pods->size(), 3U);
  EXPECT_EQ((*pods)[0]->name, "a");
  EXPECT_EQ((*pods)[1], nullptr);
}

struct Small {
  bool set = false;
  std::int64_t number = 0;
  std::string unit;
};
constexpr auto json_fields(Tag<Small>) {
  return fields(field("set", &Small::set), field("number", &Small::number),
                field("unit", &Small::unit));
}

Result<Small> small(std::string_view text) {
  Reader reader;
  return decode<Small>(reader, text);
}

TEST(Reader, ReadsASmallObjectWhateverTheOrderOfItsMembers) {
  for (const char* text : {
           R"({"set":true,"number":7,"unit":"s"})",
           R"({"unit":"s","number":7,"set":true})",
           R"({"set":true,"other":{"set":false},"number":7,"unit":"s"})",
           R"({ "number" : 7 , "set" : true , "unit" : "s" , "last" : [] })",
           R"({"s\u0065t":true,"number":7,"uni\u0074":"s"})",
           R"({"se":1,"set":true,"number":7,"unit":"s","units":2})",
       }) {
    const auto read = small(text);
    ASSERT_TRUE(read) << text << ": " << read.error().to_string();
    EXPECT_TRUE(read->set) << text;
    EXPECT_EQ(read->number, 7) << text;
    EXPECT_EQ(read->unit, "s") << text;
  }
  EXPECT_TRUE(small(R"({"set":null,"number":7})"));
  EXPECT_TRUE(small("{}"));
}

TEST(Reader, RefusesABrokenSmallObjectAsItDoesALargeOne) {
  for (const char* text : {
           R"({,"set":true})",
           R"({"set":true "number":7})",
           R"({"set":true,,"number":7})",
           R"({"set":true,})",
           R"({"set" true})",
           R"({"set":true,"set":true})",
           R"({"number":7,"set":true,"number":7})",
           R"({"set":1})",
           R"({"set":})",
           R"({"set":true)",
           R"({"set")",
           R"({"se)",
       }) {
    EXPECT_FALSE(small(text)) << text;
  }
  EXPECT_EQ(small(R"({"set":true,"number":"x"})").error().message(),
            "number: expected a number, found a string (at byte 21)");
}

// The same length, first, middle and last two characters.
struct Twins {
  std::int64_t maximums = 0, minimums = 0;
  std::string id_set, offset;
};
constexpr auto json_fields(Tag<Twins>) {
  return fields(field("maximums", &Twins::maximums), field("minimums", &Twins::minimums),
                field("het_job_id_set", &Twins::id_set), field("het_job_offset", &Twins::offset),
                field("fifth", [](Reader& reader, Twins&) { reader.skip(); }));
}

TEST(Reader, TellsKeysApartThatLookAlike) {
  Reader reader;
  const auto read = decode<Twins>(
      reader, R"({"minimums":2,"other":0,"het_job_offset":"b","maximums":1,"het_job_id_set":"a"})");
  ASSERT_TRUE(read) << read.error().to_string();
  EXPECT_EQ(read->maximums, 1);
  EXPECT_EQ(read->minimums, 2);
  EXPECT_EQ(read->id_set, "a");
  EXPECT_EQ(read->offset, "b");
}

}  // namespace
}  // namespace mainspring::json
