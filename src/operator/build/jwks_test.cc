#include "operator/build/jwks.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace mainspring::op::build {
namespace {

using ::testing::HasSubstr;

TEST(Jwks, IsAListOfKeysThatHaveANameAndANumber) {
  EXPECT_FALSE(check_jwks(R"({"keys":[]})"));
  EXPECT_FALSE(check_jwks(R"({"keys":[{"kid":"a","alg":"RS256","e":"AQAB","n":"x"},
                                      {"kid":"b","kty":"RSA","e":"AQAB","n":"x"},
                                      {"kid":"c","alg":"ES256"}]})"));
}

TEST(Jwks, IsRefusedWhereSlurmctldWouldEnd) {
  for (const auto& [text, says] : std::initializer_list<std::pair<const char*, const char*>>{
           {"", ""},
           {"{\"keys\":[", ""},
           {"[]", "no list"},
           {"{}", "no list"},
           {R"({"keys":{}})", "no list"},
           {R"({"keys":["x"]})", "keys[0] has no text \"kid\""},
           {R"({"keys":[{"kid":"a","alg":"ES256"},{"alg":"ES256"}]})", "keys[1] has no"},
           {R"({"keys":[{"kid":"a","n":"x"}]})", "\"e\""},
           {R"({"keys":[{"kid":"a","e":65537,"n":"x"}]})", "\"e\""},
           {R"({"keys":[{"kid":"a","e":"AQAB"}]})", "\"n\""},
       }) {
    const auto found = check_jwks(text);
    ASSERT_TRUE(found) << text;
    EXPECT_EQ(found->severity, slurm::Severity::kError);
    EXPECT_EQ(found->file, "jwks.json");
    EXPECT_THAT(found->message, HasSubstr(says)) << text;
  }
}

}  // namespace
}  // namespace mainspring::op::build
