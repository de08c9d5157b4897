#include "json/list_splitter.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "json/value_gen.h"

namespace mainspring::json {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;

struct Parts {
  std::vector<std::string> elements;
  std::string envelope;
  std::string error;
  bool has_list = false;
  bool operator==(const Parts&) const = default;
};

// `cut` says how long each piece is, given where it begins.
template <class Cut>
Parts split(std::string_view text, ListSplitter::Options options, Cut&& cut) {
  Parts parts;
  ListSplitter splitter(options);
  for (std::size_t at = 0; at < text.size();) {
    // A copy that ends with the piece, so that a sanitizer sees a look beyond it.
    const std::vector<char> piece(
        text.begin() + static_cast<std::ptrdiff_t>(at),
        text.begin() + static_cast<std::ptrdiff_t>(std::min(text.size(), at + cut(at))));
    static_cast<void>(splitter.feed({piece.data(), piece.size()}, [&](std::string_view element) {
      parts.elements.emplace_back(element);
    }));
    at += piece.size();
  }
  const auto envelope = splitter.finish();
  parts.has_list = splitter.has_list();
  if (envelope) {
    parts.envelope = *envelope;
  } else {
    parts.error = envelope.error().to_string();
  }
  return parts;
}

Parts split(std::string_view text, ListSplitter::Options options = {.list = "jobs"}) {
  return split(text, options, [&](std::size_t) { return text.size(); });
}

std::string refusal(std::string_view text) { return split(text).error; }

TEST(ListSplitter, HandsOutElementsAndKeepsTheRest) {
  const Parts parts = split(R"({
  "jobs": [
    {"job_id": 1, "nodes": "n[1-2]"},
    {"job_id": 2}
  ],
  "last_update": {"number": 7}, "errors": []
})");
  EXPECT_THAT(parts.elements,
              ElementsAre(R"({"job_id": 1, "nodes": "n[1-2]"})", R"({"job_id": 2})"));
  EXPECT_EQ(parts.envelope, R"({
  "jobs": [],
  "last_update": {"number": 7}, "errors": []
})");
  EXPECT_TRUE(parts.has_list);
}

TEST(ListSplitter, TakesElementsOfEveryKind) {
  const Parts parts = split(R"({"jobs":[ null ,-1.5e3,"a,]\"\\", [] ,[1,[2]],{},true]})");
  EXPECT_THAT(parts.elements,
              ElementsAre("null", "-1.5e3", R"("a,]\"\\")", "[]", "[1,[2]]", "{}", "true"));
  EXPECT_EQ(parts.envelope, R"({"jobs":[]})");
}

TEST(ListSplitter, PointsIntoThePieceWhereItCan) {
  const std::string_view whole = R"({"jobs":[{"a":1},{"b":)";
  const std::string_view rest = R"(2},3 ]})";
  std::vector<bool> inside;
  const auto note = [&](std::string_view element) {
    inside.push_back(whole.data() <= element.data() &&
                     element.data() < whole.data() + whole.size());
  };
  ListSplitter splitter({.list = "jobs"});
  ASSERT_TRUE(splitter.feed(whole, note).has_value());
  ASSERT_TRUE(splitter.feed(rest, note).has_value());
  EXPECT_THAT(inside, ElementsAre(true, false, false));
}

TEST(ListSplitter, OnlyTheTopLevelMemberIsTheList) {
  const std::string text =
      R"({"meta":{"jobs":[1]},"x":"jobs","y":["jobs",[2]],"jobs ":[3],"job":[4]})";
  const Parts parts = split(text);
  EXPECT_THAT(parts.elements, IsEmpty());
  EXPECT_EQ(parts.envelope, text);
  EXPECT_FALSE(parts.has_list);
}

TEST(ListSplitter, LeavesAnythingButAnArrayInTheEnvelope) {
  for (const std::string text : {R"({"jobs":null})", R"({"jobs":{"a":[1]}})", R"({"jobs":"[]"})",
                                 R"({"jobs":12,"a":[1,{}]})", "{}", " { } \n"}) {
    const Parts parts = split(text);
    EXPECT_EQ(parts.envelope, text);
    EXPECT_FALSE(parts.has_list) << text;
  }
  EXPECT_TRUE(split(R"({"jobs":[]})").has_list);
}

TEST(ListSplitter, SaysWhatIsBrokenAndWhere) {
  EXPECT_THAT(refusal(""), HasSubstr("ends too early (at byte 0)"));
  EXPECT_THAT(refusal("[1]"), HasSubstr("expected an object (at byte 0)"));
  EXPECT_THAT(refusal(R"({"jobs":[{"a":1},{"b)"), HasSubstr("ends too early (at byte 20)"));
  EXPECT_THAT(refusal(R"({"jobs":[1],"jobs":[2]})"),
              HasSubstr("\"jobs\" appears twice (at byte 18)"));
  EXPECT_THAT(refusal(R"({"jobs":null,"jobs":[2]})"), HasSubstr("appears twice"));
  EXPECT_THAT(refusal(R"({"jobs":[]} x)"), HasSubstr("nothing after the document (at byte 12)"));
  EXPECT_THAT(refusal(R"({"jobs":[1,]})"), HasSubstr("expected a value (at byte 11)"));
  EXPECT_THAT(refusal(R"({"jobs":[,1]})"), HasSubstr("expected a value (at byte 9)"));
  EXPECT_THAT(refusal(R"({"jobs":[{} {}]})"), HasSubstr("',' or ']' after an element"));
  EXPECT_THAT(refusal(R"({"jobs":[{}}})"), HasSubstr("',' or ']' after an element"));
  EXPECT_THAT(refusal(R"({"a":1 "b":2})"), HasSubstr("',' or '}' after a member"));
  EXPECT_THAT(refusal(R"({"a":1])"), HasSubstr("',' or '}' after a member"));
  EXPECT_THAT(refusal(R"({"a" 1})"), HasSubstr("':' after a key"));
  EXPECT_THAT(refusal(R"({"a":1,})"), HasSubstr("a key in quotes (at byte 7)"));
}

TEST(ListSplitter, RefusesWhatIsTooLarge) {
  const ListSplitter::Options options{.list = "jobs", .max_element = 5, .max_envelope = 12};
  EXPECT_EQ(split(R"({"jobs":[12345,[1,2]]})", options).error, "");
  EXPECT_THAT(split(R"({"jobs":[1,[1,23]]})", options).error,
              HasSubstr("the element of \"jobs\" at byte 11 is larger than 5 bytes"));
  EXPECT_THAT(split(R"({"jobs":[1,[1,234)", options).error, HasSubstr("larger than 5 bytes"));
  EXPECT_THAT(split(R"({"jobs":[1] })", options).error, "");
  EXPECT_THAT(split(R"({"jobs":[1]  })", options).error,
              HasSubstr("what surrounds \"jobs\" is larger than 12 bytes"));
  // Too large at byte 12, broken at byte 15.
  EXPECT_THAT(split(R"({"a":        1 x)", options).error, HasSubstr("larger than 12 bytes"));
}

TEST(ListSplitter, StopsAtTheFirstElementThatTheCallerRefuses) {
  ListSplitter splitter({.list = "jobs"});
  int calls = 0;
  const auto refuse_two = [&](std::string_view element) -> Result<void> {
    ++calls;
    if (element == "2") return fail(Code::kInvalid, "no twos");
    return {};
  };
  EXPECT_FALSE(splitter.feed(R"({"jobs":[1,2,3,)", refuse_two).has_value());
  EXPECT_EQ(calls, 2);
  EXPECT_FALSE(splitter.feed("4]}", refuse_two).has_value());
  EXPECT_EQ(calls, 2);
  EXPECT_THAT(splitter.finish().error().to_string(), HasSubstr("no twos"));
}

// Pieces below 64 bytes are looked at byte by byte, longer ones by the block: that both agree is
// part of what these properties say.
std::string pretty(const Value& value, int indent) {
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  std::string out;
  const auto add = [&](const std::string& key, const Value& item) {
    out += (out.empty() ? "\n" : ",\n") + margin + "  " + key + pretty(item, indent + 2);
  };
  if (value.kind() == Value::Kind::kArray && !value.empty()) {
    for (const Value& item : value) add("", item);
    return "[" + out + "\n" + margin + "]";
  }
  if (value.kind() == Value::Kind::kObject && !value.empty()) {
    for (const auto& [key, item] : value.members()) add(to_text(Value(key)) + ": ", item);
    return "{" + out + "\n" + margin + "}";
  }
  return to_text(value);
}

TEST(ListSplitter, MindsNoPlaceOfASingleCut) {
  // Long enough for blocks on both sides, also where the cut parts a backslash from its quote.
  const std::string filler = R"("nodes": "n[1-3]", "none": {"set": false, "list": [[], {}]}, )";
  const std::string element =
      "{" + filler + filler + R"("odd": "a\"}]", )" + filler + filler + R"("end": 0})";
  const std::string text = R"({"jobs": [)" + element + ", " + element + R"(], "errors": []})";
  for (std::size_t cut = 1; cut < text.size(); ++cut) {
    const Parts parts =
        split(text, {.list = "jobs"}, [&](std::size_t at) { return at == 0 ? cut : text.size(); });
    ASSERT_THAT(parts.elements, ElementsAre(element, element)) << "cut at " << cut;
    ASSERT_EQ(parts.envelope, R"({"jobs": [], "errors": []})") << "cut at " << cut;
  }
}

TEST(ListSplitter, AgreesWithTheWholeDocumentHoweverItIsCut) {
  EXPECT_TRUE(rc::check([] {
    Value document = *rc::gen::suchThat(
        any_value(), [](const Value& value) { return value.kind() == Value::Kind::kObject; });
    if (*rc::gen::arbitrary<bool>())
      document.set("name", Value::array({*any_value(), *any_value()}));
    const std::string text =
        *rc::gen::arbitrary<bool>() ? to_text(document) : pretty(document, *rc::gen::inRange(0, 9));
    const ListSplitter::Options options{.list = "name"};
    const Parts parts = split(text, options, [&](std::size_t) {
      return *rc::gen::weightedOneOf<std::size_t>(
          {{1, rc::gen::inRange<std::size_t>(1, 8)}, {2, rc::gen::inRange<std::size_t>(1, 300)}});
    });
    RC_ASSERT(parts.error == "");
    const Value* list = document.find("name");
    const bool is_list = list != nullptr && list->kind() == Value::Kind::kArray;
    RC_ASSERT(parts.has_list == is_list);
    Value elements = Value::array();
    for (const std::string& element : parts.elements) elements.push_back(*parse(element));
    RC_ASSERT(elements == (is_list ? *list : Value::array()));
    if (is_list) document.set("name", Value::array());
    RC_ASSERT(*parse(parts.envelope) == document);
  }));
}

TEST(ListSplitter, BreaksTheSameWayHoweverItIsCut) {
  EXPECT_TRUE(rc::check([] {
    const auto token = rc::gen::element<std::string>("{", "}", "[", "]", "\"", "\\", "\\\"", ",",
                                                     ":", " ", "\n        ", "1", "null", "\"a\"",
                                                     "\"jobs\":[", "},{", std::string(40, 'x'));
    std::string text = "{\"jobs\":[";
    for (const std::string& part : *rc::gen::container<std::vector<std::string>>(token))
      text += part;
    const ListSplitter::Options options{.list = "jobs",
                                        .max_element = *rc::gen::inRange<std::size_t>(0, 100),
                                        .max_envelope = *rc::gen::inRange<std::size_t>(0, 100)};
    const auto size = *rc::gen::inRange<std::size_t>(1, 100);
    RC_ASSERT(split(text, options) == split(text, options, [&](std::size_t) { return size; }));
  }));
}

}  // namespace
}  // namespace mainspring::json
