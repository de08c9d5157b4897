// slurm/scripted_transport.h
//
// A slurmrestd of few words for the tests of this room: gives the answers it was given, in order,
// each after its delay, and keeps what it was asked. A streamed body comes in small pieces. Lives
// on one VirtualExecutor, owned by the test.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/transport.h"
#include "net/wait.h"

namespace mainspring::slurm {

class ScriptedTransport final : public http::Transport {
  class Body final : public http::StreamingResponse {
   public:
    Body(http::Response response, std::size_t piece, bool cut)
        : response_(std::move(response)), piece_(piece), cut_(cut) {}
    int status() const override { return response_.status; }
    const http::Headers& headers() const override { return response_.headers; }
    net::Task<Result<std::string_view>> next_chunk() override {
      const std::string_view left = std::string_view(response_.body).substr(given_);
      if (left.empty() && cut_) co_return fail(Code::kTransient, "the body was cut off");
      const std::string_view piece = left.substr(0, piece_);
      given_ += piece.size();
      co_return piece;
    }

   private:
    http::Response response_;
    std::size_t piece_;
    bool cut_;
    std::size_t given_ = 0;
  };

 public:
  struct Answer {
    Result<http::Response> response;
    Duration delay{};
    bool cut = false;  // A streamed body ends too early.
  };

  void add(int status, std::string body = "", Duration delay = {}) {
    answers.push_back({http::json_response(status, std::move(body)), delay});
  }
  void add_text(int status, std::string body) {
    answers.push_back({http::text_response(status, std::move(body))});
  }
  void add(Error error, Duration delay = {}) { answers.push_back({fail(std::move(error)), delay}); }

  net::Task<Result<http::Response>> send(http::Request request) override {
    const auto limit = request.limits.timeout.value_or(hours(1));
    MS_CO_TRY(Answer answer, take(std::move(request)));
    MS_CO_CHECK(co_await wait(answer.delay, limit));
    co_return std::move(answer.response);
  }
  net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    const auto limit = request.limits.timeout.value_or(hours(1));
    MS_CO_TRY(Answer answer, take(std::move(request)));
    MS_CO_CHECK(co_await wait(answer.delay, limit));
    MS_CO_TRY(http::Response response, std::move(answer.response));
    co_return std::make_unique<Body>(std::move(response), piece_size, answer.cut);
  }
  net::Task<Result<http::Upgraded>> upgrade(http::Request) override {
    co_return fail(Code::kUnsupported, "slurmrestd upgrades nothing");
  }

  std::deque<Answer> answers;
  std::vector<http::Request> asked;
  std::size_t piece_size = 7;

 private:
  Result<Answer> take(http::Request request) {
    asked.push_back(std::move(request));
    if (answers.empty()) return fail(Code::kInternal, "nothing more was expected to be asked");
    Answer answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }
  static net::Task<Result<void>> wait(Duration delay, Duration limit) {
    MS_CO_CHECK(co_await net::sleep(std::min(delay, limit)));
    if (delay > limit) co_return fail(Code::kTimeout, "the deadline passed");
    co_return Result<void>();
  }
};

}  // namespace mainspring::slurm
