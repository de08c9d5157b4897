#include "base/quantity.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace mainspring {
namespace {

using ::testing::HasSubstr;
using Format = Quantity::Format;
constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();

Quantity q(std::string_view text) {
  auto quantity = Quantity::parse(text);
  EXPECT_TRUE(quantity) << text << ": " << quantity.error().to_string();
  return quantity.value_or(Quantity());
}

std::string canonical(std::string_view text) { return q(text).to_string(); }

rc::Gen<std::string> gen_text() {
  return rc::gen::map(
      rc::gen::tuple(
          rc::gen::element<std::string>("", "-", "+"), rc::gen::inRange<std::int64_t>(0, 1 << 20),
          rc::gen::element<std::string>("", ".0", ".5", ".25", ".1", ".000000001", ".123456789123"),
          rc::gen::element<std::string>("", "n", "u", "m", "k", "M", "G", "T", "P", "Ki", "Mi",
                                        "Gi", "Ti", "Pi", "Ei", "e3", "E-6", "e+2")),
      [](const auto& parts) {
        const auto& [sign, number, fraction, suffix] = parts;
        return sign + std::to_string(number) + fraction + suffix;
      });
}

TEST(Quantity, CanonicalFormsAreThoseOfKubernetes) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {"0", "0"},
      {"-0", "0"},
      {"0Ki", "0"},
      {"1", "1"},
      {"+1", "1"},
      {"007", "7"},
      {".5", "500m"},
      {"1.", "1"},
      {"100m", "100m"},
      {"1000m", "1"},
      {"1.5", "1500m"},
      {"1.500", "1500m"},
      {"0.1", "100m"},
      {"1500", "1500"},
      {"10000", "10k"},
      {"12e6", "12e6"},
      {"12000E3", "12e6"},
      {"1.5e1", "15"},
      {"1e-3", "1e-3"},
      {"1e2", "100"},
      {"5E", "5E"},
      {"1000E", "1000E"},
      {"1e21", "1e21"},
      {"1Ki", "1Ki"},
      {"1024", "1024"},
      {"1024Ki", "1Mi"},
      {"1.5Gi", "1536Mi"},
      {"0.5Ki", "512"},
      {"0.5Mi", "512Ki"},
      {"0.1Ki", "102400m"},
      {"0.1Mi", "104857600m"},
      {"1023Ki", "1023Ki"},
      {"-1Ki", "-1Ki"},
      {"-1.5Gi", "-1536Mi"},
      {"0.0001Ki", "102400u"},
      {"5Ei", "5Ei"},
  };
  for (const auto& [text, want] : cases) EXPECT_EQ(canonical(text), want) << text;
}

TEST(Quantity, RoundsWhatIsFinerThanABillionthAwayFromZero) {
  EXPECT_EQ(canonical("0.1n"), "1n");
  EXPECT_EQ(canonical("-0.1n"), "-1n");
  EXPECT_EQ(canonical("1.0000000001"), "1000000001n");
  EXPECT_EQ(canonical("1e-99999999999"), "1e-9");
  EXPECT_EQ(canonical("0.000000000000000000000000000000000000000001"), "1n");
  EXPECT_EQ(canonical("1.0000000000000000000000000000000000"), "1");
  EXPECT_EQ(canonical("0.0000000000000000000001Ei"), "115293n");
}

TEST(Quantity, CapsBinaryAmountsWhereKubernetesDoes) {
  EXPECT_EQ(canonical("8Ei"), "9223372036854775807");
  EXPECT_EQ(canonical("-8Ei"), "-9223372036854775807");
  EXPECT_EQ(canonical("99999999999999999999999999999999999999999999Ki"), "9223372036854775807");
  EXPECT_EQ(canonical("7.9999999999999999999999999999Ei"), "9223372036854775807");
}

TEST(Quantity, RefusesWhatIsNotAQuantity) {
  for (const char* bad :
       {"",     "-",   "+",  ".",   "Ki",    "1.2.3", "1 Ki", " 1",  "1 ",  "1KI", "1ki", "1K",
        "1Kii", "1mm", "1e", "1e+", "1e1.5", "1e1Ki", "--1",  "0x1", "1,5", "NaN", "1i",  "1\n"}) {
    auto quantity = Quantity::parse(bad);
    ASSERT_FALSE(quantity) << bad;
    EXPECT_EQ(quantity.error().code(), Code::kInvalid) << bad;
  }
  EXPECT_THAT(Quantity::parse("1 Ki").error().message(),
              HasSubstr("\"1 Ki\" has the unknown suffix \" Ki\""));
}

TEST(Quantity, AmountsBeyondTheRangeAreErrors) {
  for (const char* huge : {"1e30", "1e999999999999", "-1e30", "170141183461E"}) {
    auto quantity = Quantity::parse(huge);
    ASSERT_FALSE(quantity) << huge;
    EXPECT_EQ(quantity.error().code(), Code::kTooLarge) << huge;
  }
  EXPECT_EQ(canonical("170141183460E"), "170141183460E");
  EXPECT_EQ(canonical("0e999999999999"), "0");
  EXPECT_FALSE(q("170141183460E").plus(q("170141183460E")));
  EXPECT_FALSE(q("-170141183460E").minus(q("170141183460E")));
}

TEST(Quantity, ValueRoundsAwayFromZero) {
  EXPECT_EQ(q("1.1").value(), 2);
  EXPECT_EQ(q("-1.1").value(), -2);
  EXPECT_EQ(q("1n").value(), 1);
  EXPECT_EQ(q("2Gi").value(), std::int64_t{2} << 30);
  EXPECT_EQ(q("250m").milli_value(), 250);
  EXPECT_EQ(q("1u").milli_value(), 1);
  EXPECT_EQ(q("9223372036854775807").value(), kMax);
  EXPECT_EQ(q("9223372036854775808").value().error().code(), Code::kTooLarge);
  EXPECT_EQ(q("9223372036854775807").milli_value().error().code(), Code::kTooLarge);
}

TEST(Quantity, ComparesByAmountWhateverTheNotation) {
  EXPECT_EQ(q("1024"), q("1Ki"));
  EXPECT_EQ(q("1000m"), q("1e0"));
  EXPECT_LT(q("1M"), q("1Mi"));
  EXPECT_GT(q("-1"), q("-1.000000001"));
}

TEST(Quantity, SumsKeepTheLeftFormatUnlessTheLeftIsZero) {
  EXPECT_EQ(q("1Ki").plus(q("1k"))->to_string(), "2024");
  EXPECT_EQ(q("1Mi").plus(q("1024"))->to_string(), "1025Ki");
  EXPECT_EQ(q("1k").plus(q("1Ki"))->to_string(), "2024");
  EXPECT_EQ(Quantity().plus(q("2Ki"))->to_string(), "2Ki");
  EXPECT_EQ(Quantity().minus(q("2Ki"))->to_string(), "-2Ki");
  EXPECT_EQ(q("1").minus(q("100m"))->to_string(), "900m");
}

TEST(Quantity, IsMadeFromIntegers) {
  EXPECT_EQ(Quantity::of_units(kMax, Format::kBinarySi).value(), kMax);
  EXPECT_EQ(Quantity::of_units(4096, Format::kBinarySi).to_string(), "4Ki");
  EXPECT_EQ(Quantity::of_milli(1500).to_string(), "1500m");
  EXPECT_EQ(Quantity::of_milli(std::numeric_limits<std::int64_t>::min()).milli_value(),
            std::numeric_limits<std::int64_t>::min());
}

TEST(QuantityProperty, ReadingTheCanonicalFormGivesTheSameQuantity) {
  EXPECT_TRUE(rc::check("parse(format(q)) == q and format is stable", [] {
    const Quantity quantity = q(*gen_text());
    const std::string text = quantity.to_string();
    RC_ASSERT(q(text) == quantity);
    if (q(text).format() == quantity.format()) RC_ASSERT(q(text).to_string() == text);
  }));
}

// As in Kubernetes: the text of a binary quantity that is no multiple of 1024 does not say so.
TEST(Quantity, ABinaryFractionReadsBackAsDecimal) {
  EXPECT_EQ(canonical("812.5Ki"), "832000");
  EXPECT_EQ(canonical("832000"), "832k");
  EXPECT_EQ(q("812.5Ki"), q("832k"));
}

TEST(QuantityProperty, SubtractingUndoesAdding) {
  EXPECT_TRUE(rc::check("a + b - b == a", [] {
    const Quantity a = q(*gen_text());
    const Quantity b = q(*gen_text());
    RC_ASSERT(*a.plus(b)->minus(b) == a);
    RC_ASSERT(*a.plus(b) == *b.plus(a));
  }));
}

TEST(QuantityProperty, OrderAgreesWithTheSignOfTheDifference) {
  EXPECT_TRUE(rc::check("(a < b) == (a - b < 0)", [] {
    const Quantity a = q(*gen_text());
    const Quantity b = q(*gen_text());
    RC_ASSERT((a < b) == a.minus(b)->is_negative());
    RC_ASSERT((a == b) == a.minus(b)->is_zero());
  }));
}

}  // namespace
}  // namespace mainspring
