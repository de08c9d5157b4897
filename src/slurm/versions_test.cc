#include "slurm/versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include "http/gzip.h"
#include "json/reader.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::UnorderedElementsAre;

using Operations = std::set<std::string>;  // "GET /slurm/{version}/node/{node_name}"

Operations operations_of(const std::string& slurm, Version version) {
  std::ifstream file(MAINSPRING_TEST_DATA "/slurm/openapi/" + slurm + "-" + to_string(version) +
                     ".json.gz");
  std::ostringstream bytes;
  bytes << file.rdbuf();
  const auto text = http::gzip_decompress(bytes.str(), std::size_t{8} << 20);
  EXPECT_TRUE(text) << slurm << " " << to_string(version);
  if (!text) return {};

  Operations found;
  json::Reader reader;
  reader.open(*text);
  reader.object([&](std::string_view key) {
    if (key != "paths") return;
    reader.object([&](std::string_view name) {
      std::string path(name);
      const std::string spelled = "/" + to_string(version) + "/";
      const auto at = path.find(spelled);
      EXPECT_NE(at, std::string::npos) << path;
      path.replace(at, spelled.size(), "/{version}/");
      reader.object([&](std::string_view method) {
        std::string upper(method);
        for (char& c : upper) c = static_cast<char>(std::toupper(static_cast<unsigned char>(c)));
        if (http::parse_method(upper)) found.insert(upper + " " + path);
      });
    });
  });
  EXPECT_TRUE(reader.finish());
  return found;
}

Operations operations_of_table(Version version) {
  Operations found;
  for (const EndpointInfo& each : all_endpoints()) {
    if (each.since > version) continue;
    found.insert(std::string(http::to_string(each.method)) + " " + std::string(each.path));
  }
  return found;
}

// What we leave out, and why.
const std::map<std::string, std::string> kLeftOut = {
    {"POST /util/{version}/hostlist", "base/hostlist.h does it without a round trip"},
    {"POST /util/{version}/hostnames", "base/hostlist.h does it without a round trip"},
};

std::vector<std::string> without(const Operations& all, const Operations& known) {
  std::vector<std::string> rest;
  for (const std::string& each : all) {
    if (!known.contains(each) && !kLeftOut.contains(each)) rest.push_back(each);
  }
  return rest;
}

// The Slurm at hand whose newest version it is, or that is nearest to it.
const std::map<Version, std::string> kDocuments = {
    {Version::k42, "24.11.5"},
    {Version::k43, "26.05.5"},
    {Version::k44, "26.05.5"},
    {Version::k45, "26.05.5"},
};

TEST(Versions, TableHasWhatTheOpenApiDocumentsHave) {
  ASSERT_EQ(kDocuments.size(), kVersions.size());
  for (const auto& [version, slurm] : kDocuments) {
    SCOPED_TRACE(to_string(version));
    const Operations document = operations_of(slurm, version);
    const Operations table = operations_of_table(version);
    EXPECT_THAT(without(document, table), IsEmpty()) << "in the document, not in the table";
    EXPECT_THAT(without(table, document), IsEmpty()) << "in the table, not in the document";
  }
}

TEST(Versions, AnOldVersionSpokenByANewSlurmLacksNothing) {
  const Operations old = operations_of("24.11.5", Version::k42);
  const Operations later = operations_of("26.05.5", Version::k42);
  EXPECT_THAT(without(old, later), IsEmpty());
  EXPECT_THAT(without(later, old),
              UnorderedElementsAre("DELETE /slurm/{version}/reservation/{reservation_name}"));
}

TEST(Versions, WhatIsLeftOutExists) {
  const Operations newest = operations_of("26.05.5", Version::k45);
  for (const auto& [operation, why] : kLeftOut) EXPECT_TRUE(newest.contains(operation)) << why;
}

TEST(Versions, EveryEndpointIsFoundByItsName) {
  std::set<std::string_view> names;
  for (const EndpointInfo& each : all_endpoints()) {
    EXPECT_EQ(&info(each.endpoint), &each) << each.what;
    EXPECT_TRUE(names.insert(each.what).second) << each.what << " stands for two";
    if (each.method != http::Method::kGet) {
      EXPECT_EQ(each.effect, Effect::kWrite) << each.what;
    }
  }
  EXPECT_EQ(info(Endpoint::kReconfigure).effect, Effect::kWrite);
  EXPECT_EQ(info(Endpoint::kRequeueJob).effect, Effect::kWrite);
}

TEST(Versions, AreReadAsTheyAreWritten) {
  for (const Version version : kVersions) EXPECT_EQ(parse_version(to_string(version)), version);
  for (const char* text : {"", "v0.0.41", "v0.0.46", "v0.0.045", "0.0.45", "v0.0.45 "}) {
    EXPECT_EQ(parse_version(text), std::nullopt) << text;
  }
}

TEST(Versions, WhatIsMissingIsSaidWithTheReleaseThatHasIt) {
  EXPECT_TRUE(require(Version::k44, Endpoint::kCreateNode));
  const auto refused = require(Version::k42, Endpoint::kCreateNode);
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code(), Code::kUnsupported);
  EXPECT_EQ(refused.error().message(),
            "cannot create node: that needs REST API v0.0.44 (Slurm 25.11 or later), and this "
            "slurmrestd speaks v0.0.42");
  EXPECT_TRUE(require(Version::k43, Feature::kExternalJobs));
  const auto external = require(Version::k42, Feature::kExternalJobs);
  ASSERT_FALSE(external);
  EXPECT_THAT(external.error().message(), HasSubstr("cannot submit external jobs"));
}

TEST(Versions, PathArgumentsStayOneSegment) {
  const auto path = [](std::vector<std::string> arguments) {
    return path_of(Endpoint::kGetNode, Version::k45, arguments);
  };
  EXPECT_EQ(path({"gpu-3"}), "/slurm/v0.0.45/node/gpu-3");
  EXPECT_EQ(path({"a/../b?c#d,e%f"}), "/slurm/v0.0.45/node/a%2F..%2Fb%3Fc%23d%2Ce%25f");
  for (const auto& bad :
       std::vector<std::vector<std::string>>{{}, {""}, {"."}, {".."}, {"a", "b"}}) {
    const auto refused = path(bad);
    ASSERT_FALSE(refused);
    EXPECT_EQ(refused.error().code(), Code::kInvalid);
  }
  EXPECT_EQ(path_of(Endpoint::kRequeueJob, Version::k45, std::vector<std::string>{"7"}),
            "/slurm/v0.0.45/job/7/requeue");
}

}  // namespace
}  // namespace mainspring::slurm
