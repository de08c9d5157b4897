// http/fake_network.h
//
// A network of memory streams for the tests and fuzz targets of this room: what is listened at can
// be connected to, and nothing else exists. Lives on one VirtualExecutor, owned by the test.
#pragma once

#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "net/memory_stream.h"
#include "net/network.h"
#include "net/one_shot.h"

namespace mainspring::http {

class FakeNetwork final : public net::Network {
  struct Queue {
    std::deque<std::unique_ptr<net::Stream>> streams;
    std::optional<net::OneShot<net::Unit>> waiter;
    bool closed = false;
    void wake() {
      if (waiter) waiter->set(net::Unit{});
    }
  };

  class FakeListener final : public net::Listener {
   public:
    explicit FakeListener(std::shared_ptr<Queue> queue) : queue_(std::move(queue)) {}
    ~FakeListener() override { queue_->closed = true; }

    net::Task<Result<std::unique_ptr<net::Stream>>> accept() override {
      const auto queue = queue_;
      while (queue->streams.empty()) {
        if (queue->closed) co_return fail(Code::kCancelled, "the listener was closed");
        queue->waiter.emplace();
        auto woken = co_await net::OneShot<net::Unit>(*queue->waiter).wait();
        queue->waiter.reset();
        if (!woken) co_return fail(std::move(woken).error());
      }
      auto stream = std::move(queue->streams.front());
      queue->streams.pop_front();
      co_return stream;
    }
    void close() override {
      queue_->closed = true;
      queue_->wake();
    }
    std::uint16_t port() const override { return 0; }

   private:
    std::shared_ptr<Queue> queue_;
  };

 public:
  net::Task<Result<std::unique_ptr<net::Stream>>> connect(net::Endpoint endpoint,
                                                          net::ConnectOptions) override {
    connected.push_back(endpoint.to_string());
    const auto found = queues_.find(endpoint.to_string());
    if (found == queues_.end() || found->second->closed) {
      co_return fail(Code::kTransient, "connecting to " + endpoint.to_string() + ": refused");
    }
    auto [near, far] = net::make_memory_streams();
    found->second->streams.push_back(std::move(far));
    found->second->wake();
    co_return std::move(near);
  }

  Result<std::unique_ptr<net::Listener>> listen(const net::Endpoint& endpoint,
                                                net::ListenOptions) override {
    auto queue = std::make_shared<Queue>();
    queues_[endpoint.to_string()] = queue;
    return std::make_unique<FakeListener>(queue);
  }

  // Where connect() was asked to go, in order.
  std::vector<std::string> connected;

 private:
  std::map<std::string, std::shared_ptr<Queue>> queues_;
};

}  // namespace mainspring::http
