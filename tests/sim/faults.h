// tests/sim/faults.h
//
// A Transport that misbehaves by a seed: calls are late, refused (429, 5xx), lost before or after
// they took effect, or do not find the way, lists are stale, and watches break in the middle.
// Stands between a client and KubeApi or SlurmApi in simulations. Lives on one loop; owned by the
// test.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "base/random.h"
#include "http/transport.h"

namespace mainspring::sim {

class Faults final : public http::Transport {
 public:
  // Chances between 0 and 1.
  struct Options {
    std::uint64_t seed = 1;
    Duration delay_max{};     // Evenly from nothing to this, before each call.
    double refuse = 0;        // 429 with Retry-After, or 500, 503, 504; no effect.
    double lose_request = 0;  // The connection breaks before the call arrives.
    double lose_answer = 0;   // It breaks after the call took effect.
    double misdirect = 0;     // No way there, in words that could be the server's: kNotFound.
    double duplicate = 0;     // The call arrives twice; the caller sees the second answer.
    double stale_list = 0;    // A list that allows it gets an answer that was given before.
    double break_watch = 0;   // Before each piece of a streamed body.
    double late_watch = 0;    // A piece of a streamed body comes up to five seconds late.
    double cut_line = 0;  // A piece of a streamed body ends in the middle and the stream breaks.
  };

  // `next` must outlive this and the responses it gave.
  Faults(http::Transport& next, Options options)
      : next_(next), options_(options), random_(options.seed) {}

  // Calls that are refused whenever they come, as by a quota or somebody's webhook; also when all
  // else is healed.
  std::function<bool(const http::Request&)> forbids = [](const http::Request&) { return false; };

  // Asked by URL when the call has taken effect: whether its answer is lost; also when all else is
  // healed.
  std::function<bool(std::string_view)> loses = [](std::string_view) { return false; };

  // From now on nothing goes wrong: for the end of a simulation, which must converge.
  void heal() { options_ = Options{.seed = options_.seed}; }
  const Options& options() const { return options_; }

  http::Task<Result<http::Response>> send(http::Request request) override;
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override;
  http::Task<Result<http::Upgraded>> upgrade(http::Request request) override;

  std::uint64_t injected() const { return injected_; }
  bool happens(double chance);
  Duration lateness();

 private:
  http::Task<Result<void>> delay();
  http::Response refusal();

  http::Transport& next_;
  Options options_;
  Random random_;
  std::uint64_t injected_ = 0;
  std::map<std::string, http::Response> earlier_lists_;
};

}  // namespace mainspring::sim
