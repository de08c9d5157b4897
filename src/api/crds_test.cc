#include "api/crds.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <sstream>
#include <utility>

#include "api/additions.h"
#include "api/schema_rows_testing.h"
#include "json/yaml.h"

namespace mainspring::api {
namespace {

using json::Value;
using ::testing::AnyOf;
using ::testing::ElementsAre;
using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;

std::string file(const std::string& path) {
  std::ifstream in(path);
  EXPECT_TRUE(in) << path;
  std::ostringstream text;
  text << in.rdbuf();
  return text.str();
}

using Rows = std::map<std::pair<std::string, std::string>, SchemaRow>;

Rows by_path(const std::vector<SchemaRow>& rows) {
  Rows out;
  for (const SchemaRow& row : rows) out[{row.kind, row.path}] = row;
  return out;
}

Rows ours() {
  Rows out;
  for (const Value& crd : crds()) out.merge(by_path(rows_of(crd)));
  return out;
}

Rows contract() {
  return by_path(parse_rows(file(MAINSPRING_TEST_DATA "/contract/crd-fields.tsv")));
}

const Value& crd_of(const std::vector<Value>& all, std::string_view kind) {
  for (const Value& crd : all) {
    if (*crd.at_pointer("/spec/names/kind") == Value(kind)) return crd;
  }
  ADD_FAILURE() << "no definition of " << kind;
  return all.front();
}

std::vector<std::string> columns_of(const Value& crd) {
  std::vector<std::string> out;
  for (const Value& column : *crd.at_pointer("/spec/versions/0/additionalPrinterColumns")) {
    out.push_back(fmt::format(
        "{} {} {}{}", *column.find("name")->as_string(), *column.find("jsonPath")->as_string(),
        *column.find("type")->as_string(), column.find("priority") == nullptr ? "" : " wide"));
  }
  return out;
}

TEST(Crds, HaveEveryFieldOfThePublicContractAsItIsThere) {
  const Rows have = ours();
  const Rows want = contract();
  ASSERT_EQ(want.size(), 346);
  for (const auto& [key, row] : want) {
    const auto found = have.find(key);
    if (found == have.end()) {
      ADD_FAILURE() << "missing: " << to_string(row);
    } else {
      EXPECT_EQ(to_string(found->second), to_string(row));
    }
  }
}

TEST(Crds, HaveBeyondTheContractExactlyTheListedAdditions) {
  const Rows want = contract();
  std::vector<std::string> extra;
  for (const auto& [key, row] : ours()) {
    if (!want.contains(key) && row.kind != "Cluster") extra.push_back(row.kind + row.path);
  }
  std::vector<std::string> listed;
  bool cluster = false;
  for (const Addition& addition : additions()) {
    if (addition.path.empty()) {
      cluster = addition.kind == "Cluster";
    } else {
      listed.push_back(fmt::format("{}{}", addition.kind, addition.path));
    }
  }
  EXPECT_EQ(extra, listed);
  EXPECT_TRUE(cluster);
}

TEST(Crds, DocumentEveryAddition) {
  const std::string page = file("docs/crds.md");
  for (const Addition& addition : additions()) {
    EXPECT_THAT(page, HasSubstr(fmt::format("`{}{}`", addition.kind, addition.path)));
  }
}

TEST(Crds, NoAdditionIsRequiredOfUsers) {
  const auto theirs = contract();
  for (const auto& [key, row] : ours()) {
    if (row.kind != "Cluster" && !theirs.contains(key)) EXPECT_FALSE(row.required) << row.path;
  }
}

TEST(Crds, ShowTheColumnsAndAnswerToTheNamesThatUsersKnow) {
  const auto all = crds();
  EXPECT_EQ(all.size(), 7);
  const auto short_names = [&](std::string_view kind) {
    return json::to_text(*crd_of(all, kind).at_pointer("/spec/names/shortNames"));
  };
  EXPECT_EQ(short_names("Controller"), R"(["slurmctld"])");
  EXPECT_EQ(short_names("NodeSet"), R"(["nodesets","nss","slurmd"])");
  EXPECT_EQ(short_names("LoginSet"), R"(["loginsets","lss","sackd"])");
  EXPECT_EQ(short_names("RestApi"), R"(["slurmrestd"])");
  EXPECT_EQ(short_names("Accounting"), R"(["slurmdbd"])");
  EXPECT_EQ(short_names("Token"), R"(["tokens","jwt"])");

  constexpr auto kAge = "AGE .metadata.creationTimestamp date";
  EXPECT_THAT(columns_of(crd_of(all, "Controller")), ElementsAre(kAge));
  EXPECT_THAT(columns_of(crd_of(all, "RestApi")), ElementsAre(kAge));
  EXPECT_THAT(columns_of(crd_of(all, "Accounting")), ElementsAre(kAge));
  EXPECT_THAT(columns_of(crd_of(all, "LoginSet")),
              ElementsAre("REPLICAS .status.replicas integer", kAge));
  EXPECT_THAT(columns_of(crd_of(all, "Token")),
              ElementsAre("USER .spec.username string", "IAT .status.issuedAt date", kAge));
  EXPECT_THAT(columns_of(crd_of(all, "Cluster")),
              ElementsAre("READY .status.isReady boolean", kAge));
  EXPECT_THAT(
      columns_of(crd_of(all, "NodeSet")),
      ElementsAre(
          "DESIRED .status.desired integer", "REPLICAS .status.replicas integer",
          "UPDATED .status.updatedReplicas integer", "READY .status.readyReplicas integer",
          "IDLE .status.slurmIdle integer wide", "ALLOCATED .status.slurmAllocated integer wide",
          "DOWN .status.slurmDown integer wide", "DRAIN .status.slurmDrain integer wide", kAge));
}

TEST(Crds, OnlySetsOfPodsScale) {
  for (const Value& crd : crds()) {
    const auto kind = *crd.at_pointer("/spec/names/kind")->as_string();
    const Value& subresources = *crd.at_pointer("/spec/versions/0/subresources");
    EXPECT_NE(subresources.find("status"), nullptr) << kind;
    EXPECT_EQ(subresources.find("scale") != nullptr, kind == "NodeSet" || kind == "LoginSet")
        << kind;
    EXPECT_EQ(*crd.at_pointer("/spec/scope"), Value("Namespaced"));
  }
}

void expect_described(const Value& schema, const std::string& path) {
  if (const Value* const properties = schema.find("properties")) {
    for (const auto& [name, property] : properties->members()) {
      const std::string at = fmt::format("{}.{}", path, name);
      if (name == "metadata" && property.find("properties") == nullptr) continue;
      const Value* const text = property.find("description");
      ASSERT_NE(text, nullptr) << at;
      EXPECT_THAT(std::string(*text->as_string()), EndsWith(".")) << at;
      expect_described(property, at);
    }
  }
  if (const Value* const items = schema.find("items")) expect_described(*items, path + "[]");
}

TEST(Crds, ExplainEveryFieldInASentence) {
  for (const Value& crd : crds()) {
    expect_described(*crd.at_pointer("/spec/versions/0/schema/openAPIV3Schema"),
                     std::string(*crd.at_pointer("/spec/names/kind")->as_string()));
  }
}

TEST(Crds, RulesSayWhatToDo) {
  for (const Value& crd : crds()) {
    for (const std::string_view at : {"/properties/spec/x-kubernetes-validations",
                                      "/properties/spec/properties/updateStrategy/"
                                      "x-kubernetes-validations"}) {
      const Value* const rules =
          crd.at_pointer("/spec/versions/0/schema/openAPIV3Schema")->at_pointer(at);
      if (rules == nullptr) continue;
      for (const Value& rule : *rules) {
        EXPECT_THAT(std::string(*rule.find("message")->as_string()),
                    AnyOf(HasSubstr("set "), HasSubstr("needs ")));
      }
    }
  }
}

TEST(CrdChart, HoldsWhatTheCodeGenerates) {
  for (const Value& crd : crds()) {
    const std::string text = crd_text(crd);
    const std::string name(*crd.at_pointer("/spec/names/plural")->as_string());
    EXPECT_EQ(file("charts/mainspring-crds/templates/" + name + ".yaml"), text)
        << "run dev/generate";
    // Helm would take it for a template.
    EXPECT_THAT(text, Not(HasSubstr("{{")));
    EXPECT_EQ(json::parse_yaml(text).value(), crd);
  }
}

TEST(CrdChart, HasTheVersionOfTheProject) {
  const auto chart = json::parse_yaml(file("charts/mainspring-crds/Chart.yaml"));
  ASSERT_TRUE(chart) << chart.error().message();
  const std::string version(*chart->find("version")->as_string());
  EXPECT_EQ(*chart->find("appVersion"), Value(version));
  EXPECT_THAT(file("CMakeLists.txt"), HasSubstr("project(mainspring VERSION " + version + " "));
}

}  // namespace
}  // namespace mainspring::api
