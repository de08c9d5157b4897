#include "sim/faults.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

#include "net/wait.h"

namespace mainspring::sim {
namespace {

tl::unexpected<Error> lost() { return fail(Code::kTransient, "the connection was reset"); }

// As a proxy says of a name that it cannot resolve.
tl::unexpected<Error> misdirected() { return fail(Code::kNotFound, "no such host is known"); }

// Only these may be answered from a cache that lags behind.
bool may_be_stale(const http::Request& request) {
  return request.method == http::Method::kGet && request.url.query_value("resourceVersion") == "0";
}

class FaultyStream final : public http::StreamingResponse {
 public:
  FaultyStream(Faults& faults, std::unique_ptr<http::StreamingResponse> inner)
      : faults_(faults), inner_(std::move(inner)) {}
  int status() const override { return inner_->status(); }
  const http::Headers& headers() const override { return inner_->headers(); }

  http::Task<Result<std::string_view>> next_chunk() override {
    if (broken_ || faults_.happens(faults_.options().break_watch)) {
      broken_ = true;
      co_return lost();
    }
    MS_CO_TRY(const std::string_view chunk, co_await inner_->next_chunk());
    if (faults_.happens(faults_.options().late_watch)) {
      MS_CO_CHECK(co_await net::sleep(faults_.lateness()));
    }
    if (chunk.size() > 1 && faults_.happens(faults_.options().cut_line)) {
      broken_ = true;
      co_return chunk.substr(0, chunk.size() / 2);
    }
    co_return chunk;
  }

 private:
  Faults& faults_;
  std::unique_ptr<http::StreamingResponse> inner_;
  bool broken_ = false;
};

}  // namespace

bool Faults::happens(double chance) {
  // No draw where nothing can happen, so that a fault that is off does not change the others.
  if (chance <= 0 || random_.fraction() >= chance) return false;
  ++injected_;
  return true;
}

Duration Faults::lateness() {
  constexpr Duration kLatest = seconds(5);
  return Duration(
      static_cast<Duration::rep>(random_.below(static_cast<std::uint64_t>(kLatest.count()))));
}

http::Task<Result<void>> Faults::delay() {
  const auto most = static_cast<std::uint64_t>(options_.delay_max.count());
  if (most == 0) co_return Result<void>();
  co_return co_await net::sleep(Duration(static_cast<Duration::rep>(random_.below(most))));
}

http::Response Faults::refusal() {
  constexpr int kStatuses[] = {429, 500, 503, 504};
  constexpr const char* kReasons[] = {"TooManyRequests", "InternalError", "ServiceUnavailable",
                                      "Timeout"};
  const std::size_t which = random_.below(std::size(kStatuses));
  http::Response made = http::json_response(
      kStatuses[which],
      fmt::format(R"({{"kind":"Status","apiVersion":"v1","metadata":{{}},"status":"Failure",)"
                  R"("message":"the simulation refuses","reason":"{}","code":{}}})",
                  kReasons[which], kStatuses[which]));
  if (kStatuses[which] == 429) made.headers.set("Retry-After", "1");
  return made;
}

http::Task<Result<http::Response>> Faults::send(http::Request request) {
  MS_CO_CHECK(co_await delay());
  if (happens(options_.lose_request)) co_return lost();
  if (forbids(request)) {
    co_return http::json_response(
        403, R"({"kind":"Status","apiVersion":"v1","metadata":{},"status":"Failure",)"
             R"("message":"exceeded quota","reason":"Forbidden","code":403})");
  }
  if (happens(options_.misdirect)) co_return misdirected();
  if (happens(options_.refuse)) co_return refusal();
  const std::string key = request.url.to_string();
  const bool stale = may_be_stale(request);
  if (stale && earlier_lists_.contains(key) && happens(options_.stale_list)) {
    co_return earlier_lists_[key];
  }
  if (happens(options_.duplicate)) {
    http::Request again = request;
    MS_CO_CHECK(co_await next_.send(std::move(again)));
  }
  MS_CO_TRY(http::Response response, co_await next_.send(std::move(request)));
  if (stale && response.ok()) earlier_lists_[key] = response;
  if (loses(key) || happens(options_.lose_answer)) co_return lost();
  co_return response;
}

http::Task<Result<std::unique_ptr<http::StreamingResponse>>> Faults::open(http::Request request) {
  MS_CO_CHECK(co_await delay());
  if (happens(options_.lose_request)) co_return lost();
  if (happens(options_.misdirect)) co_return misdirected();
  const std::string key = request.url.to_string();
  MS_CO_TRY(auto inner, co_await next_.open(std::move(request)));
  if (loses(key)) co_return lost();
  co_return std::make_unique<FaultyStream>(*this, std::move(inner));
}

http::Task<Result<http::Upgraded>> Faults::upgrade(http::Request request) {
  MS_CO_CHECK(co_await delay());
  if (happens(options_.lose_request)) co_return lost();
  if (happens(options_.misdirect)) co_return misdirected();
  co_return co_await next_.upgrade(std::move(request));
}

}  // namespace mainspring::sim
