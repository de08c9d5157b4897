// tests/sim/interceptor.h
//
// A Transport that answers some calls itself, as the test says, and passes on the others. Owned by
// the test; lives on one loop.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "http/transport.h"

namespace mainspring::sim {

class Interceptor final : public http::Transport {
 public:
  // `next` must outlive it.
  explicit Interceptor(http::Transport& next) : next_(next) {}

  // Calls of this method whose path has this in it are refused with this status, until
  // open_again().
  void close(http::Method method, std::string_view path, int status) {
    refuse_ = [=, path = std::string(path)](const http::Request& request) {
      const bool meant =
          request.method == method && request.url.path.find(path) != std::string::npos;
      return meant ? status : 0;
    };
  }
  void open_again() { refuse_ = nullptr; }

  // Where it is set, it is asked first; none: the call is passed on.
  std::function<std::optional<http::Response>(const http::Request&)> answer;

  // Where it is set, nobody answers by another name.
  std::string only_host;

  http::Task<Result<http::Response>> send(http::Request request) override {
    if (is_elsewhere(request)) co_return nobody();
    if (auto own = answer ? answer(request) : std::nullopt) co_return *std::move(own);
    const int status = refuse_ ? refuse_(request) : 0;
    if (status == 0) co_return co_await next_.send(std::move(request));
    http::Response refusal;
    refusal.status = status;
    refusal.body = R"({"kind":"Status","status":"Failure","message":"refused by the test"})";
    co_return refusal;
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(
      http::Request request) override {
    if (is_elsewhere(request)) co_return nobody();
    co_return co_await next_.open(std::move(request));
  }
  http::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
    return next_.upgrade(std::move(request));
  }

 private:
  bool is_elsewhere(const http::Request& request) const {
    return !only_host.empty() && request.url.host != only_host;
  }
  static tl::unexpected<Error> nobody() {
    return fail(Code::kTransient, "connection refused by the test");
  }

  http::Transport& next_;
  std::function<int(const http::Request&)> refuse_;
};

}  // namespace mainspring::sim
