#include "json/fields.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

namespace mainspring::json {
namespace {

struct Record {
  std::int64_t boards = 0, cores = 0, cpus = 0;
  std::string name, address;
  bool operator==(const Record&) const = default;
};
constexpr auto json_fields(Tag<Record>) {
  return fields(field("boards", &Record::boards), field("cores", &Record::cores),
                field("cpus", &Record::cpus), field("name", &Record::name),
                field("address", &Record::address));
}

const Record kRecord{.boards = 1, .cores = 16, .cpus = 32, .name = "n1", .address = "::1"};
const std::vector<std::string> kMembers = {R"("boards":1)", R"("cores":16)", R"("cpus":32)",
                                           R"("name":"n1")", R"("address":"::1")"};
// Among them keys that differ from those of the table in little, and one written with an escape.
const std::vector<std::string> kStrangers = {R"("coves":{"cores":9,"name":[{}]})", R"("" : "")",
                                             R"("cpu":7)", R"("na\u006de_":null)", R"( "x" : -1 )"};

std::string object_of(const std::vector<std::string>& members) {
  std::string text = "{";
  for (const std::string& member : members) text += (text.size() > 1 ? "," : "") + member;
  return text + "}";
}

Result<Record> read_record(const std::vector<std::string>& members) {
  Reader reader;
  return decode<Record>(reader, object_of(members));
}

template <class Fn>
void for_each_order(Fn fn) {
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  do {
    std::vector<std::string> members;
    members.reserve(order.size());
    for (const std::size_t i : order) members.push_back(kMembers[i]);
    fn(members);
  } while (std::next_permutation(order.begin(), order.end()));
}

TEST(Fields, AreReadInAnyOrder) {
  for_each_order([](const std::vector<std::string>& members) {
    const auto read = read_record(members);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, kRecord) << object_of(members);
  });
}

TEST(Fields, AreReadWhateverStandsBetweenThem) {
  for_each_order([](const std::vector<std::string>& members) {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < members.size(); ++i) {
      all.push_back(kStrangers[i]);
      all.push_back(members[i]);
    }
    const auto read = read_record(all);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(*read, kRecord) << object_of(all);
  });
}

TEST(Fields, MayBeAbsent) {
  for (std::size_t left_out = 0; left_out < kMembers.size(); ++left_out) {
    std::vector<std::string> members = kMembers;
    members.erase(members.begin() + static_cast<std::ptrdiff_t>(left_out));
    members.push_back(kStrangers[left_out]);
    const auto read = read_record(members);
    ASSERT_TRUE(read) << read.error().to_string();
    const bool there[] = {read->boards == 1, read->cores == 16, read->cpus == 32,
                          read->name == "n1", read->address == "::1"};
    for (std::size_t i = 0; i < kMembers.size(); ++i) EXPECT_EQ(there[i], i != left_out) << i;
  }
}

TEST(Fields, ThatComeTwiceAreRefusedWhereverTheyStand) {
  for_each_order([](const std::vector<std::string>& members) {
    for (const std::string& twice : kMembers) {
      for (std::size_t at = 0; at <= members.size(); ++at) {
        std::vector<std::string> all = members;
        all.insert(all.begin() + static_cast<std::ptrdiff_t>(at), twice);
        const auto read = read_record(all);
        ASSERT_FALSE(read) << object_of(all);
        EXPECT_NE(read.error().message().find("appears twice"), std::string::npos);
      }
    }
  });
}

TEST(Fields, StandInObjectsThatAreNotBroken) {
  Reader reader;
  for (const char* text : {
           R"({,"x":1})",
           R"({"x":1,})",
           R"({"x":1 "y":2})",
           R"({"x":1,,"boards":1})",
           R"({"x":1,"y" 2})",
           R"({"x":1,"y":})",
           R"({"x":1,"y":[}})",
           R"({"x":1,"y":x,"boards":1})",
           R"({"x":1,"y":2)",
           R"({"x":1,"y")",
           R"({"x":1,"y":)",
           R"({"boards":1,"x":{"y":1},)",
           R"({"x":1,2:3})",
           R"({"x":1,"\u00":3})",
       }) {
    EXPECT_FALSE(decode<Record>(reader, text)) << text;
  }
}

TEST(Fields, SayWhereTheyStandWhenTheyAreWrong) {
  Reader reader;
  EXPECT_EQ(decode<Record>(reader, R"({"x":[1],"y":1,"cpus":"many"})").error().message(),
            "cpus: expected a number, found a string (at byte 22)");
  EXPECT_EQ(decode<Record>(reader, R"({"x":1,"y":[1}})").error().message(),
            "y: '[' is closed by '}' (at byte 13)");
}

struct Numbers {
  std::int32_t small = 0;
  std::uint64_t large = 0;
  Number any;
};
constexpr auto json_fields(Tag<Numbers>) {
  return fields(field("small", &Numbers::small), field("large", &Numbers::large),
                field("any", &Numbers::any));
}

TEST(Fields, TakeNumbersOfEveryLength) {
  Reader reader;
  std::string digits;
  std::uint64_t expected = 0;
  for (const char digit : std::string_view("1234567890123456789")) {
    digits += digit;
    expected = expected * 10 + static_cast<std::uint64_t>(digit - '0');
    std::string text = R"({"large" : )";
    text.append(digits).append(R"( ,"any":)").append(digits).append("}");
    const auto read = decode<Numbers>(reader, text);
    ASSERT_TRUE(read) << read.error().to_string();
    EXPECT_EQ(read->large, expected);
    EXPECT_EQ(read->any.integer, static_cast<std::int64_t>(expected));
  }
  for (const char* text : {R"({"small":2147483648})", R"({"small":01})", R"({"small":1x})",
                           R"({"small":1.5})", R"({"small":-})", R"({"large":-1})",
                           R"({"large":18446744073709551616})", R"({"any":00})"}) {
    EXPECT_FALSE(decode<Numbers>(reader, text)) << text;
  }
  EXPECT_EQ(decode<Numbers>(reader, R"({"small":-2147483648})")->small, -2147483647 - 1);
}

}  // namespace
}  // namespace mainspring::json
