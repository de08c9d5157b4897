#include "http/router.h"

#include <gtest/gtest.h>

#include "net/virtual_executor.h"

namespace mainspring::http {
namespace {

// Answers with the name of the route and its parameters.
Task<Result<Response>> describe(std::string text, Request request) {
  for (const auto& [key, value] : request.parameters) {
    text.append(" ").append(key).append("=").append(value);
  }
  co_return text_response(200, text);
}
Handler named(const std::string& name) {
  return [name](Request request) { return describe(name, std::move(request)); };
}

std::string answer(const Router& router, std::string_view path, Method method = Method::kGet) {
  net::VirtualExecutor executor;
  Request request;
  request.method = method;
  request.url.path = path;
  const auto response = executor.run(router.handle(request));
  if (!response) return response.error().to_string();
  return response->status == 200 ? response->body : std::to_string(response->status);
}

TEST(Router, FindsTheMostSpecificRoute) {
  Router router;
  router.add(Method::kGet, "/{rest...}", named("rest"));
  router.add(Method::kGet, "/pods/{name}", named("pod"));
  router.add(Method::kGet, "/pods/all", named("all"));
  router.add(Method::kGet, "/pods/{name}/log", named("log"));
  router.add(Method::kGet, "/", named("root"));
  EXPECT_EQ(answer(router, "/pods/all"), "all");
  EXPECT_EQ(answer(router, "/pods/x"), "pod name=x");
  EXPECT_EQ(answer(router, "/pods/all/log"), "log name=all");
  EXPECT_EQ(answer(router, "/pods/x/y"), "rest rest=pods/x/y");
  EXPECT_EQ(answer(router, "/"), "root");
  EXPECT_EQ(answer(router, "/other"), "rest rest=other");
}

TEST(Router, AWildcardTakesAlsoNothing) {
  Router router;
  router.add(Method::kGet, "/files/{path...}", named("files"));
  EXPECT_EQ(answer(router, "/files"), "files path=");
  EXPECT_EQ(answer(router, "/files/"), "files path=");
  EXPECT_EQ(answer(router, "/files/a/b%20c"), "files path=a/b c");
  EXPECT_EQ(answer(router, "/file"), "404");
}

TEST(Router, DecodesSegmentsAfterSplitting) {
  Router router;
  router.add(Method::kGet, "/a/{x}", named("x"));
  EXPECT_EQ(answer(router, "/%61/b%2Fc"), "x x=b/c");
  EXPECT_EQ(answer(router, "/a/%2E%2e"), "404");
  EXPECT_EQ(answer(router, "/a/.."), "404");
  EXPECT_EQ(answer(router, "/a/"), "404");
  EXPECT_EQ(answer(router, "/a/%zz"), "404");
}

TEST(Router, TellsUnknownPathsFromUnknownMethods) {
  Router router;
  router.add(Method::kGet, "/a", named("get"));
  router.add(Method::kPost, "/a", named("post"));
  EXPECT_EQ(answer(router, "/b"), "404");
  const auto refused = router.match(Method::kDelete, "/a");
  EXPECT_EQ(refused.refusal.status, 405);
  EXPECT_EQ(refused.refusal.headers.get("Allow"), "OPTIONS, GET, HEAD, POST");
  EXPECT_EQ(router.match(Method::kOptions, "/a").refusal.status, 204);
}

TEST(Router, HeadIsAnsweredByGetWithoutTheBody) {
  Router router;
  router.add(Method::kGet, "/a", named("get"));
  EXPECT_EQ(answer(router, "/a", Method::kHead), "");
}

TEST(Router, AFailedHandlerIsAnErrorResponse) {
  Router router;
  router.add(Method::kGet, "/a", [](Request) -> Task<Result<Response>> {
    co_return fail(Code::kConflict, "changed meanwhile");
  });
  EXPECT_EQ(answer(router, "/a"), "409");
}

TEST(Router, CollectsAStreamedAnswer) {
  Router router;
  router.add_stream(Method::kGet, "/a", [](Request, ResponseWriter* out) -> Task<Result<void>> {
    MS_CO_CHECK(co_await out->start(200, {}));
    MS_CO_CHECK(co_await out->write("one "));
    co_return co_await out->write("two");
  });
  EXPECT_EQ(answer(router, "/a"), "one two");
}

TEST(RouterDeathTest, AMalformedPatternIsAMistakeInTheProgram) {
  Router router;
  router.add(Method::kGet, "/a", named("a"));
  EXPECT_DEATH(router.add(Method::kGet, "/a", named("a")), "added twice");
  EXPECT_DEATH(router.add(Method::kGet, "a", named("a")), "must begin with /");
  EXPECT_DEATH(router.add(Method::kGet, "/{a...}/b", named("a")), "must come last");
  EXPECT_DEATH(router.add(Method::kGet, "/x{a}", named("a")), "whole segment");
}

}  // namespace
}  // namespace mainspring::http
