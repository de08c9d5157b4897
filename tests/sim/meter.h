// tests/sim/meter.h
//
// A Transport that passes calls on and counts them, and the bytes of their answers, by what was
// asked for: "GET job", "GET jobs/state". Numbers and versions in paths count for nothing. Owned by
// the test; lives on one loop.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "base/text.h"
#include "http/transport.h"

namespace mainspring::sim {

class Meter final : public http::Transport {
 public:
  struct Use {
    std::int64_t calls = 0, bytes = 0;
  };
  using Account = std::map<std::string, Use>;

  // `next` must outlive it.
  explicit Meter(http::Transport& next) : next_(next) {}

  // Since the last take().
  Account take() { return std::exchange(account_, {}); }

  http::Task<Result<http::Response>> send(http::Request request) override {
    const std::string what = name_of(request);
    ++account_[what].calls;
    auto answer = co_await next_.send(std::move(request));
    if (answer) account_[what].bytes += static_cast<std::int64_t>(answer->body.size());
    co_return answer;
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(
      http::Request request) override {
    const std::string what = name_of(request);
    ++account_[what].calls;
    MS_CO_TRY(auto answer, co_await next_.open(std::move(request)));
    std::unique_ptr<http::StreamingResponse> counted =
        std::make_unique<Counted>(*this, what, std::move(answer));
    co_return counted;
  }
  http::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
    return next_.upgrade(std::move(request));
  }

 private:
  struct Counted final : http::StreamingResponse {
    Counted(Meter& to, std::string asked, std::unique_ptr<http::StreamingResponse> from)
        : meter(to), what(std::move(asked)), answer(std::move(from)) {}
    int status() const override { return answer->status(); }
    const http::Headers& headers() const override { return answer->headers(); }
    http::Task<Result<std::string_view>> next_chunk() override {
      MS_CO_TRY(const std::string_view piece, co_await answer->next_chunk());
      meter.account_[what].bytes += static_cast<std::int64_t>(piece.size());
      co_return piece;
    }
    Meter& meter;
    std::string what;
    std::unique_ptr<http::StreamingResponse> answer;
  };

  static std::string name_of(const http::Request& request) {
    std::string name(http::to_string(request.method));
    std::string sign = " ";
    for (const std::string_view part : split(request.url.path, '/')) {
      const bool counts = !part.empty() && part != "slurm" &&
                          std::none_of(part.begin(), part.end(),
                                       [](char letter) { return letter >= '0' && letter <= '9'; });
      if (!counts) continue;
      name += std::exchange(sign, "/");
      name += part;
    }
    return name;
  }

  http::Transport& next_;
  Account account_;
};

}  // namespace mainspring::sim
