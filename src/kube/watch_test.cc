#include "kube/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kube/core_objects.h"
#include "kube/status.h"
#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

using ::testing::HasSubstr;

// A body in the given pieces, which then ends or breaks.
class Pieces final : public http::StreamingResponse {
 public:
  Pieces(std::vector<std::string> pieces, bool breaks)
      : pieces_(std::move(pieces)), breaks_(breaks) {}
  int status() const override { return 200; }
  const http::Headers& headers() const override { return headers_; }
  Task<Result<std::string_view>> next_chunk() override {
    if (next_ < pieces_.size()) co_return std::string_view(pieces_[next_++]);
    if (breaks_) co_return fail(Code::kTransient, "connection reset");
    co_return std::string_view();
  }

 private:
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  bool breaks_;
  http::Headers headers_;
};

class WatchTest : public ::testing::Test {
 protected:
  Watch<ConfigMap> watch(std::vector<std::string> pieces, bool breaks = false) {
    return Watch<ConfigMap>(std::make_unique<Pieces>(std::move(pieces), breaks));
  }
  Result<std::optional<WatchEvent<ConfigMap>>> next(Watch<ConfigMap>& from) {
    return executor_.run(from.next());
  }
  Error refused(std::string line) {
    auto one = watch({line + "\n"});
    auto event = next(one);
    return event ? Error(Code::kInternal, "was accepted") : event.error();
  }
  net::VirtualExecutor executor_;
};

std::string line(std::string_view type, std::string_view name, std::string_view version) {
  return R"({"type":")" + std::string(type) +
         R"(","object":{"kind":"ConfigMap","metadata":{"name":")" + std::string(name) +
         R"(","resourceVersion":")" + std::string(version) + "\"}}}\n";
}

TEST_F(WatchTest, GivesEveryChangeAndItsVersion) {
  auto events =
      watch({line("ADDED", "a", "1") + line("MODIFIED", "a", "2"), line("DELETED", "a", "3")});
  const WatchEventType types[] = {WatchEventType::kAdded, WatchEventType::kModified,
                                  WatchEventType::kDeleted};
  for (int i = 0; i < 3; ++i) {
    auto event = next(events);
    ASSERT_TRUE(event && *event);
    EXPECT_EQ((*event)->type, types[i]);
    EXPECT_EQ((*event)->object->meta.name, "a");
    EXPECT_EQ((*event)->resource_version, std::to_string(i + 1));
    EXPECT_FALSE((*event)->initial_events_end);
  }
  const auto end = next(events);
  ASSERT_TRUE(end.has_value());
  EXPECT_FALSE(end->has_value());
}

TEST_F(WatchTest, ABookmarkHasAVersionAndNoObject) {
  auto events = watch({R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"7"}}})"
                       "\n"
                       R"({"type":"BOOKMARK","object":{"metadata":{"resourceVersion":"8",)"
                       R"("annotations":{"k8s.io/initial-events-end":"true"}}}})"
                       "\n"});
  for (const char* version : {"7", "8"}) {
    const auto event = next(events);
    ASSERT_TRUE(event && *event);
    EXPECT_EQ((*event)->type, WatchEventType::kBookmark);
    EXPECT_EQ((*event)->object, nullptr);
    EXPECT_EQ((*event)->resource_version, version);
    EXPECT_EQ((*event)->initial_events_end, version == std::string("8"));
  }
}

TEST_F(WatchTest, AVersionThatIsTooOldIsGone) {
  const Error error =
      refused(R"({"type":"ERROR","object":{"kind":"Status","status":"Failure","code":410,)"
              R"("reason":"Expired","message":"too old resource version"}})");
  EXPECT_EQ(error.code(), Code::kGone);
  EXPECT_EQ(error.message(), "too old resource version");
  ASSERT_NE(status_of(error), nullptr);
  EXPECT_EQ(status_of(error)->reason, "Expired");
}

TEST_F(WatchTest, AnErrorThatSaysNothingMayPass) {
  for (const char* text : {R"({"type":"ERROR"})", R"({"type":"ERROR","object":{}})"}) {
    EXPECT_EQ(refused(text).code(), Code::kTransient);
    EXPECT_THAT(refused(text).message(), HasSubstr("watch"));
  }
  EXPECT_EQ(refused(R"({"type":"ERROR","object":{"status":"Failure","code":205}})").message(),
            "refused with status 205");
}

TEST_F(WatchTest, RefusesWhatIsNoEvent) {
  EXPECT_THAT(refused(R"({"object":{"metadata":{}},"type":"ADDED"})").to_string(),
              HasSubstr("comes before the event's type"));
  EXPECT_THAT(refused(R"({"type":"RENAMED","object":{}})").to_string(),
              HasSubstr("not a type of watch event"));
  EXPECT_THAT(refused("{}").to_string(), HasSubstr("it has no type"));
  for (const char* text :
       {"null", "[]", "7", "{", "<html>", R"({"type":7})", R"({"type":"ADDED","object":[]})",
        R"({"type":"ADDED","object":{"metadata":{"name":7}}})",
        R"({"type":"BOOKMARK","object":{},"type":"ADDED"})", R"({"type":"ADDED","object":{}} x)"}) {
    EXPECT_EQ(refused(text).code(), Code::kInvalid) << text;
  }
}

TEST_F(WatchTest, IgnoresEmptyLinesAndHowTheBytesArrive) {
  const std::string text = "\n\r\n" + line("ADDED", "a", "1") + "\n" + line("ADDED", "b", "2");
  std::vector<std::string> bytes;
  for (const char c : text) bytes.emplace_back(1, c);
  auto events = watch(std::move(bytes));
  EXPECT_EQ((**next(events)).object->meta.name, "a");
  EXPECT_EQ((**next(events)).object->meta.name, "b");
  EXPECT_FALSE(next(events)->has_value());
}

TEST_F(WatchTest, ALineThatIsCutOffIsNotTheEnd) {
  auto events = watch({line("ADDED", "a", "1"), R"({"type":"ADDED","obj)"}, true);
  EXPECT_TRUE(next(events).has_value());
  EXPECT_EQ(next(events).error().code(), Code::kTransient);
}

TEST_F(WatchTest, AnEventDoesNotSeeTheOneBeforeIt) {
  auto events = watch({R"({"type":"ADDED","object":{"metadata":{"name":"a","labels":{"x":"1"}}}})"
                       "\n"
                       R"({"type":"ADDED","object":{"metadata":{"name":"b"}}})"
                       "\n"});
  EXPECT_EQ((**next(events)).object->meta.labels.find("x"), "1");
  EXPECT_FALSE((**next(events)).object->meta.labels.find("x"));
}

}  // namespace
}  // namespace mainspring::kube
