// slurm/number_test.cc
#include "slurm/number.h"

#include <gtest/gtest.h>

#include "json/fields.h"

namespace mainspring::slurm {
namespace {

Number decoded(std::string_view text) {
  json::Reader reader;
  const auto number = json::decode<Number>(reader, text);
  EXPECT_TRUE(number) << text;
  return number.value_or(Number(-12345));
}

TEST(Number, IsANumberNoNumberOrNoLimit) {
  EXPECT_EQ(decoded(R"({"set":true,"infinite":false,"number":5})"), Number(5));
  EXPECT_EQ(decoded(R"({"set":false,"infinite":false,"number":0})"), Number());
  EXPECT_EQ(decoded(R"({"set":false,"infinite":true,"number":0})"), Number::infinite());
  EXPECT_EQ(decoded(R"({"number":7})"), Number(7));
  EXPECT_EQ(decoded("42"), Number(42));
  EXPECT_EQ(decoded("-1"), Number(-1));
}

TEST(Number, TakesWhatSlurmLetsThrough) {
  EXPECT_EQ(decoded("18446744073709551614"), Number());
  EXPECT_EQ(decoded("18446744073709551615"), Number::infinite());
  EXPECT_EQ(decoded(R"({"set":true,"number":1.8446744073709552e19})"), Number::infinite());
  EXPECT_EQ(decoded(R"({"set":true,"number":2.75})"), Number(2));
}

TEST(Number, RefusesWhatIsNoNumber) {
  json::Reader reader;
  EXPECT_FALSE(json::decode<Number>(reader, R"("5")"));
  EXPECT_FALSE(json::decode<Number>(reader, R"({"set":1,"number":5})"));
  EXPECT_FALSE(json::decode<Number>(reader, "[]"));
}

TEST(Number, IsWrittenAndReadAgain) {
  for (const Number number : {Number(), Number(0), Number(17), Number::infinite()}) {
    EXPECT_EQ(decoded(json::to_text(to_json(number))), number);
  }
  EXPECT_EQ(json::to_text(to_json(Number(4096))), R"({"set":true,"number":4096})");
}

}  // namespace
}  // namespace mainspring::slurm
