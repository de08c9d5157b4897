// kube/scripted_transport.h
//
// An API server of few words for the tests of this room: gives the answers it was given, in order,
// and keeps what it was asked. An upgrade becomes a websocket whose other end the test holds. Lives
// on one VirtualExecutor, owned by the test.
#pragma once

#include <deque>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "http/transport.h"
#include "http/websocket.h"
#include "http/websocket_handshake.h"
#include "net/memory_stream.h"

namespace mainspring::kube {

class ScriptedTransport final : public http::Transport {
  class Body final : public http::StreamingResponse {
   public:
    explicit Body(http::Response response) : response_(std::move(response)) {}
    int status() const override { return response_.status; }
    const http::Headers& headers() const override { return response_.headers; }
    net::Task<Result<std::string_view>> next_chunk() override {
      if (std::exchange(given_, true)) co_return std::string_view();
      co_return std::string_view(response_.body);
    }

   private:
    http::Response response_;
    bool given_ = false;
  };

 public:
  net::Task<Result<http::Response>> send(http::Request request) override {
    co_return take(std::move(request));
  }
  net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    MS_CO_TRY(http::Response response, take(std::move(request)));
    co_return std::make_unique<Body>(std::move(response));
  }
  net::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
    asked.push_back(request);
    MS_CO_TRY(http::Response answer, http::accept_websocket(request, protocols));
    auto [near, far] = net::make_memory_streams();
    socket = std::make_unique<http::WebSocket>(
        std::move(far), random_, http::WebSocket::Options{http::WebSocket::Role::kServer});
    co_return http::Upgraded{std::move(answer.headers), std::move(near)};
  }

  std::deque<http::Response> answers;
  std::vector<http::Request> asked;

  std::vector<std::string> protocols;
  std::unique_ptr<http::WebSocket> socket;  // The server's end of the last upgrade.

 private:
  Result<http::Response> take(http::Request request) {
    asked.push_back(std::move(request));
    if (answers.empty()) return fail(Code::kInternal, "nothing more was expected to be asked");
    http::Response answer = std::move(answers.front());
    answers.pop_front();
    return answer;
  }

  Random random_{7};
};

}  // namespace mainspring::kube
