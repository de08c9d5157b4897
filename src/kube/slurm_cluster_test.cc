#include "kube/slurm_cluster.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::kube {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

SlurmCluster campus(const std::string& server = "https://slurm.example.com:6820") {
  SlurmCluster cluster;
  cluster.server = server;
  cluster.token_secret = "campus-token";
  return cluster;
}

SecretObject with(const std::string& key, const std::string& token) {
  SecretObject secret;
  secret.data.emplace(key, Secret(token));
  return secret;
}

TEST(SlurmCluster, IsReadWithoutItsStatus) {
  json::Reader reader;
  const auto cluster = json::decode<SlurmCluster>(
      reader, R"({"metadata":{"name":"campus","namespace":"slurm"},"spec":{"server":"http://a:1",)"
              R"("token":{"secretRef":"t"}},"status":{"isReady":true,"nodes":7}})");
  ASSERT_TRUE(cluster) << cluster.error().to_string();
  EXPECT_EQ(cluster->meta.name, "campus");
  EXPECT_EQ(cluster->server, "http://a:1");
  EXPECT_EQ(cluster->token_secret, "t");
}

TEST(SlurmAccess, IsTheAddressAndTheTokenWithoutItsLineBreak) {
  const SecretObject secret = with("auth-token", "a.b.c\n");
  const SlurmAccess access = slurm_access(campus(), &secret);
  EXPECT_EQ(access.reason, "");
  EXPECT_EQ(access.server, "https://slurm.example.com:6820");
  EXPECT_EQ(access.token.reveal(), "a.b.c");
}

TEST(SlurmAccess, NamesTheSecretAndWhatItLacks) {
  const SlurmAccess none = slurm_access(campus(), nullptr);
  EXPECT_EQ(none.reason, "SecretMissing");
  EXPECT_THAT(none.message, AllOf(HasSubstr("spec.token.secretRef"), HasSubstr("campus-token"),
                                  HasSubstr("is not there")));
  const SecretObject other = with("SLURM_JWT", "a.b.c");
  EXPECT_THAT(slurm_access(campus(), &other).message,
              AllOf(HasSubstr("auth-token"), HasSubstr("lacks this key"), Not(HasSubstr("a.b.c"))));
  const SecretObject blank = with("auth-token", " \n");
  const SlurmAccess empty = slurm_access(campus(), &blank);
  EXPECT_EQ(empty.reason, "SecretMissing");
  EXPECT_THAT(empty.message, HasSubstr("nothing under this key"));
}

TEST(SlurmAccess, NamesAnAddressThatIsNone) {
  const SecretObject secret = with("auth-token", "a.b.c");
  for (const char* const server : {"", "slurm.example.com", "ftp://slurm", "http://a b"}) {
    const SlurmAccess access = slurm_access(campus(server), &secret);
    EXPECT_EQ(access.reason, "InvalidServer") << server;
    EXPECT_THAT(access.message, AllOf(HasSubstr("spec.server"), HasSubstr(server)));
    EXPECT_TRUE(access.token.empty());
  }
}

}  // namespace
}  // namespace mainspring::kube
