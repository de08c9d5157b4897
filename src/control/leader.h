// control/leader.h
//
// LeaderElector: of several processes, one acts. They agree by a Lease object: whoever holds it
// renews it, and the others take it over only after they have seen it unchanged, by their own
// clock, for as long as it says. No clock is ever compared with another machine's, so only the
// rates of the clocks matter (the rules of client-go, which may stand on the other side).
//
// Never two that act: may_write() is true only until `renew_deadline` after the sending of the last
// renewal that succeeded, which is before anybody else may take over. kube::Client asks it before
// each write and lets no write last longer. So a process that was stopped and continued writes
// nothing, even before it finds out that it no longer leads.
//
// Lives on the control loop; owned by the Manager.
#pragma once

#include <optional>
#include <string>

#include "base/log.h"
#include "base/metrics.h"
#include "base/random.h"
#include "kube/api.h"
#include "kube/lease.h"

namespace mainspring::control {

using net::Task;

class LeaderElector {
 public:
  struct Options {
    std::string ns;
    std::string name;
    // Of this process, unlike that of any other: host name and something random.
    std::string identity;
    // lease_duration > renew_deadline > retry_period; what is not so is moved to what is.
    Duration lease_duration = seconds(15);
    Duration renew_deadline = seconds(10);
    Duration retry_period = seconds(2);
    Logger log = {};
    Metrics* metrics = nullptr;
  };

  // All must outlive this.
  LeaderElector(net::Executor& executor, kube::Client& client, Random& random, Options options);

  // Tries once, and says whether this process leads.
  Task<Result<bool>> attempt();
  // Returns when this process leads. Fails only by cancellation: every other failure is waited out.
  Task<Result<void>> acquire();
  // Renews for as long as that succeeds. Ends when the lease is lost, with kConflict or kTimeout
  // saying how, or by cancellation, and then still leads for a while: call release().
  Task<Result<void>> hold();
  // Gives the lease up so that the next need not wait. Runs to its end even in a cancelled scope,
  // within the renew deadline. Nothing may be written afterwards.
  Task<Result<void>> release();

  bool leading() const;
  // For kube::Client::Options::may_write: the time left, or kForbidden.
  Result<Duration> may_write() const;
  // Who leads as far as is known; empty: nobody.
  const std::string& holder() const { return observed_.holder; }

 private:
  // One attempt to take or renew the lease; true if it is ours now.
  Task<Result<bool>> try_once();
  Task<Result<bool>> write(kube::Lease lease, bool exists);
  Task<Result<void>> give_up();
  void observe(const kube::Lease& lease);
  json::Value to_json(const kube::Lease& lease, bool exists) const;

  net::Executor& executor_;
  Random& random_;
  Options options_;
  kube::Api<kube::Lease> api_;
  Gauge is_leader_;

  kube::Lease observed_;
  std::string shown_;  // Of whom it was said last that it leads.
  TimePoint observed_at_;
  std::optional<TimePoint> renewed_at_;  // When the last renewal that succeeded was sent.
};

}  // namespace mainspring::control
