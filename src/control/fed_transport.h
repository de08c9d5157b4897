// control/fed_transport.h
//
// A Transport for tests of watches: answers in a fixed order, and streams that the test feeds line
// by line and ends as it likes, before or after they are asked for. Lives on one VirtualExecutor,
// owned by the test. It knows nothing of Kubernetes.
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "http/transport.h"
#include "net/notify.h"

namespace mainspring::control {

// A streamed body, fed from outside. Copies share it.
class Feed {
 public:
  void send(std::string bytes) const {
    state_->chunks.push_back(std::move(bytes));
    state_->changed.notify_all();
  }
  void line(std::string_view text) const { send(std::string(text) + "\n"); }
  void end() const {
    state_->ended = true;
    state_->changed.notify_all();
  }
  void drop() const {
    state_->dropped = true;
    state_->changed.notify_all();
  }
  // Whether the reader has come and gone.
  bool left() const { return state_.use_count() == 1; }

 private:
  friend class FedResponse;
  struct State {
    std::deque<std::string> chunks;
    std::string current;
    bool ended = false;
    bool dropped = false;
    net::Notify changed;
  };
  std::shared_ptr<State> state_ = std::make_shared<State>();
};

class FedResponse final : public http::StreamingResponse {
 public:
  FedResponse(int status, Feed feed) : status_(status), feed_(std::move(feed)) {}
  int status() const override { return status_; }
  const http::Headers& headers() const override { return headers_; }
  net::Task<Result<std::string_view>> next_chunk() override {
    Feed::State& state = *feed_.state_;
    while (state.chunks.empty() && !state.ended && !state.dropped) {
      MS_CO_CHECK(co_await state.changed.wait());
    }
    if (!state.chunks.empty()) {
      state.current = std::move(state.chunks.front());
      state.chunks.pop_front();
      co_return std::string_view(state.current);
    }
    if (state.dropped) co_return fail(Code::kTransient, "connection reset");
    co_return std::string_view();
  }

 private:
  int status_;
  http::Headers headers_;
  Feed feed_;
};

class FedTransport final : public http::Transport {
 public:
  // The next answer to a plain request.
  void answer(int status, std::string body) {
    answers_.push_back(http::json_response(status, std::move(body)));
  }
  // The next answer to a request for a stream.
  Feed stream(int status = 200) {
    Feed feed;
    streams_.emplace_back(status, feed);
    return feed;
  }

  // "/api/v1/pods?watch=true", in the order in which they came.
  std::vector<std::string> requests;

  net::Task<Result<http::Response>> send(http::Request request) override {
    requests.push_back(request.url.target());
    if (answers_.empty()) co_return fail(Code::kInternal, "no more answers");
    http::Response response = std::move(answers_.front());
    answers_.pop_front();
    co_return response;
  }
  net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    requests.push_back(request.url.target());
    if (streams_.empty()) co_return fail(Code::kInternal, "no more streams");
    auto [status, feed] = std::move(streams_.front());
    streams_.pop_front();
    co_return std::make_unique<FedResponse>(status, std::move(feed));
  }
  net::Task<Result<http::Upgraded>> upgrade(http::Request) override {
    co_return fail(Code::kUnsupported, "no upgrades");
  }

 private:
  std::deque<http::Response> answers_;
  std::deque<std::pair<int, Feed>> streams_;
};

}  // namespace mainspring::control
