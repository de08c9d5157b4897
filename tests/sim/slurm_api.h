// tests/sim/slurm_api.h
//
// A slurmrestd in memory, spoken to like the real one: SlurmApi is an http::Transport over a
// SlurmModel, so our own client, cache and controllers run against it unchanged, in virtual time.
// Statuses, error numbers and shapes are those of Slurm 26.05;
// tests/real/slurm_differential_test.py runs the same random calls on both and compares. Lives on
// one loop; owned by the test.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/secret.h"
#include "http/transport.h"
#include "json/value.h"
#include "net/executor.h"
#include "sim/slurm_model.h"

namespace mainspring::sim {

class SlurmApi final : public http::Transport {
 public:
  struct Options {
    Duration latency = milliseconds(2);  // Before each answer.
    std::vector<std::string> versions = {"v0.0.42", "v0.0.43", "v0.0.44", "v0.0.45"};
    // HS256 key that tokens must be signed with; empty: any token is the user "slurm".
    Secret key;
    SlurmModel::Options model = {};
  };

  SlurmApi(net::Executor& executor, Options options);

  http::Task<Result<http::Response>> send(http::Request request) override;
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override;
  http::Task<Result<http::Upgraded>> upgrade(http::Request request) override;

  // The answer at once, for those who set the scene.
  http::Response answer(const http::Request& request);
  // Up to date.
  SlurmModel& model();

  // slurmctld is away: lists answer 502 after ten seconds, ping answers that it does not respond.
  void stop_controller() { controller_up_ = false; }
  bool controller_up() const { return controller_up_; }
  void start_controller();
  // slurmrestd is away: nobody listens.
  void stop_rest() { rest_up_ = false; }
  void start_rest() { rest_up_ = true; }
  void set_key(Secret key) { options_.key = std::move(key); }

  std::uint64_t requests() const { return requests_; }

 private:
  struct Caller {
    std::string user;
    bool admin = false;
  };
  struct Target {
    http::Method method;
    int version = 0;
    std::string kind;  // "node", "jobs", ...
    std::vector<std::string> rest;
  };

  http::Task<Result<void>> pass_time(const http::Request* request);
  std::optional<http::Response> refuse_caller(const http::Request& request, Caller& caller) const;
  http::Response route(const Target& target, const http::Request& request, const Caller& caller);
  std::int64_t seconds_now() const;
  http::Response listed(std::string_view list, json::Value items, int version) const;
  http::Response read(const Target& target, const http::Request& request,
                      const Caller& caller) const;
  http::Response read_nodes(const Target& target, const http::Request& request) const;
  http::Response read_jobs(const Target& target, const http::Request& request) const;
  http::Response read_job(const Target& target) const;
  http::Response read_partitions(const Target& target, const http::Request& request) const;
  http::Response read_reservations(const Target& target, const http::Request& request) const;
  http::Response requeue(const Target& target, const Caller& caller) const;
  static bool may_change(const SlurmJob& job, const Caller& caller) {
    return caller.admin || job.user == caller.user;
  }
  http::Response write(const Target& target, const json::Value& body, const Caller& caller);
  http::Response write_job(const Target& target, const json::Value& body, const Caller& caller);
  http::Response submit(const Target& target, const json::Value& body, const Caller& caller);
  http::Response cancel(const Target& target, const json::Value& body);

  net::Executor& executor_;
  Options options_;
  SlurmModel model_;
  bool controller_up_ = true;
  bool rest_up_ = true;
  std::uint64_t requests_ = 0;
};

}  // namespace mainspring::sim
