// control/scripted_api.h
//
// An API server for tests of this room that says what the test tells it to, answer by answer, and
// remembers what it was asked. Lives on one VirtualExecutor, owned by the test.
#pragma once

#include <algorithm>
#include <deque>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/transport.h"
#include "json/value.h"
#include "kube/client.h"
#include "net/virtual_executor.h"
#include "net/wait.h"

namespace mainspring::control {

class ScriptedApi final : public http::Transport {
 public:
  // Answers the next request that is not answered yet.
  void reply(int status, std::string body) {
    replies_.push_back(http::json_response(status, std::move(body)));
  }
  void reply(const json::Value& object) { reply(200, json::to_text(object)); }
  void refuse(int status, std::string_view reason, std::string_view cause = {}) {
    json::Value causes = json::Value::array();
    if (!cause.empty()) causes.push_back(json::Value::object({{"reason", cause}}));
    reply(status, json::to_text(json::Value::object(
                      {{"kind", "Status"},
                       {"status", "Failure"},
                       {"reason", reason},
                       {"message", "refused by the test"},
                       {"code", status},
                       {"details", json::Value::object({{"causes", std::move(causes)}})}})));
  }
  // Answers all requests for which there is no reply in line. Without: 500, which is not retried
  // for creates and JSON patches, and is for the rest.
  std::function<http::Response(const http::Request& request)> otherwise;
  // Of each answer.
  Duration latency{};

  // "PATCH /api/v1/namespaces/a/pods/b", without the query.
  std::vector<std::string> calls() const {
    std::vector<std::string> lines;
    for (const http::Request& request : requests) {
      lines.push_back(std::string(http::to_string(request.method)) + " " + request.url.path);
    }
    return lines;
  }
  json::Value body(std::size_t index) const {
    auto parsed = json::parse(requests.at(index).body);
    return parsed ? *std::move(parsed) : json::Value("not JSON");
  }

  std::vector<http::Request> requests;
  std::size_t in_flight = 0;
  std::size_t most_in_flight = 0;

  http::Task<Result<http::Response>> send(http::Request request) override {
    requests.push_back(request);
    most_in_flight = std::max(most_in_flight, ++in_flight);
    if (latency > Duration::zero()) {
      const auto waited = co_await net::sleep(latency);
      --in_flight;
      if (!waited) co_return fail(waited.error());
    } else {
      --in_flight;
    }
    if (!replies_.empty()) {
      http::Response response = std::move(replies_.front());
      replies_.pop_front();
      co_return response;
    }
    co_return otherwise ? otherwise(request) : http::error_response(500, "no answer in the script");
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request) override {
    co_return fail(Code::kUnsupported, "the script has no streams");
  }
  http::Task<Result<http::Upgraded>> upgrade(http::Request) override {
    co_return fail(Code::kUnsupported, "the script has no upgrades");
  }

 private:
  std::deque<http::Response> replies_;
};

// What a test of calls needs.
struct ScriptedClient {
  net::VirtualExecutor executor;
  Random random{1};
  ScriptedApi api;
  kube::Client client{api, executor.clock(), random, {.server = {.scheme = "http", .host = "api"}}};
};

}  // namespace mainspring::control
