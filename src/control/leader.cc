#include "control/leader.h"

#include <fmt/chrono.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/rfc3339.h"
#include "net/wait.h"

namespace mainspring::control {
namespace {

LeaderElector::Options sensible(LeaderElector::Options options) {
  options.retry_period = std::max<Duration>(options.retry_period, milliseconds(10));
  options.renew_deadline = std::max(options.renew_deadline, options.retry_period * 2);
  options.lease_duration =
      std::max<Duration>(options.lease_duration, options.renew_deadline + seconds(1));
  // The Lease counts whole seconds, and rounding down would promise more than we keep.
  options.lease_duration = std::chrono::ceil<seconds>(options.lease_duration);
  return options;
}

std::string in_seconds(Duration duration) {
  return fmt::format("{:.1f} s", std::chrono::duration<double>(duration).count());
}

}  // namespace

LeaderElector::LeaderElector(net::Executor& executor, kube::Client& client, Random& random,
                             Options options)
    : executor_(executor),
      random_(random),
      options_(sensible(std::move(options))),
      api_(client, options_.ns) {
  if (options_.metrics != nullptr) {
    is_leader_ = options_.metrics->gauge("leader_election_master_status",
                                         "1 where this process leads", {{"name", options_.name}});
    is_leader_.set(0);
  }
}

Result<Duration> LeaderElector::may_write() const {
  const Duration left =
      renewed_at_ ? *renewed_at_ + options_.renew_deadline - executor_.now() : Duration::zero();
  if (left > Duration::zero()) return left;
  // Not kConflict: to many who write, that says that what they wanted is done.
  return fail(Code::kForbidden, fmt::format("{} does not hold the lease {}/{}", options_.identity,
                                            options_.ns, options_.name));
}

bool LeaderElector::leading() const { return may_write().has_value(); }

Task<Result<bool>> LeaderElector::attempt() {
  Result<bool> ours = co_await try_once();
  if (!ours) {
    if (ours.error().code() != Code::kCancelled) {
      options_.log.warn("cannot read or write the leader lease", {{"error", ours.error()}});
    }
  } else if (*ours) {
    is_leader_.set(1);
    options_.log.info("leading", {{"lease", options_.name}, {"identity", options_.identity}});
  } else if (observed_.holder != shown_) {
    shown_ = observed_.holder;
    options_.log.info("another process leads", {{"lease", options_.name}, {"leader", shown_}});
  }
  co_return ours;
}

Task<Result<void>> LeaderElector::acquire() {
  while (true) {
    const Result<bool> ours = co_await attempt();
    if (!ours && ours.error().code() == Code::kCancelled) co_return fail(ours.error());
    if (ours && *ours) co_return Result<void>();
    // Up to a fifth more, so that several that wait do not ask together for ever.
    const auto chance = 1.0 + random_.fraction() / 5;
    MS_CO_CHECK(
        co_await net::sleep(std::chrono::duration_cast<Duration>(options_.retry_period * chance)));
  }
}

Task<Result<void>> LeaderElector::hold() {
  std::optional<Error> trouble;
  while (true) {
    const Duration left = may_write().value_or(Duration::zero());
    MS_CO_CHECK(co_await net::sleep(std::min(options_.retry_period, left)));
    if (!leading()) break;
    const Result<bool> ours = co_await try_once();
    if (!ours && ours.error().code() == Code::kCancelled) co_return fail(ours.error());
    if (ours && !*ours && observed_.holder != options_.identity) {
      renewed_at_.reset();
      is_leader_.set(0);
      co_return fail(Code::kConflict,
                     fmt::format("the lease {} was taken by {}", options_.name, observed_.holder));
    }
    if (!ours) {
      options_.log.warn("the leader lease was not renewed", {{"error", ours.error()}});
      trouble = ours.error();
    }
  }
  is_leader_.set(0);
  Error lost(Code::kTimeout, fmt::format("the lease {} was not renewed within {}{}", options_.name,
                                         in_seconds(options_.renew_deadline),
                                         trouble ? ": " + trouble->to_string() : std::string()));
  co_return fail(std::move(lost));
}

Task<Result<void>> LeaderElector::release() {
  if (!leading()) co_return Result<void>();
  // From here on nothing is written, whether or not the release arrives.
  renewed_at_.reset();
  is_leader_.set(0);
  net::CancelScope own;
  co_return co_await net::with_timeout(options_.renew_deadline, "releasing the lease", give_up())
      .in(own);
}

Task<Result<void>> LeaderElector::give_up() {
  // Twice: a renewal that was cut off by the end may have arrived, and then our version is old.
  for (int attempt = 0; attempt < 2; ++attempt) {
    kube::Lease lease = observed_;
    lease.holder.clear();
    lease.renewed = executor_.clock().wall_now();
    MS_CO_TRY(const bool released, co_await write(std::move(lease), true));
    if (released) {
      options_.log.info("no longer leading", {{"lease", options_.name}});
      co_return Result<void>();
    }
    MS_CO_TRY(const kube::Lease live, co_await api_.get(options_.name, {}));
    observe(live);
    if (live.holder != options_.identity) co_return Result<void>();
  }
  co_return fail(Code::kConflict, fmt::format("the lease {} changes all the time", options_.name));
}

Task<Result<bool>> LeaderElector::try_once() {
  const Result<kube::Lease> read =
      co_await api_.get(options_.name, {.timeout = options_.renew_deadline / 2});
  const TimePoint now = executor_.now();
  const WallTime wall_now = executor_.clock().wall_now();
  kube::Lease lease;
  bool exists = true;
  if (read) {
    observe(*read);
    lease = *read;
  } else if (read.error().code() == Code::kNotFound) {
    exists = false;
    lease.meta.name = options_.name;
    lease.meta.ns = options_.ns;
  } else {
    co_return fail(read.error());
  }

  const bool ours = exists && lease.holder == options_.identity;
  if (!ours && !lease.holder.empty() &&
      now < observed_at_ + seconds(std::max(lease.duration_seconds, 1))) {
    co_return false;
  }
  if (!ours) {
    lease.acquired = wall_now;
    if (exists) ++lease.transitions;
  }
  lease.holder = options_.identity;
  lease.renewed = wall_now;
  lease.duration_seconds =
      static_cast<std::int32_t>(std::chrono::ceil<seconds>(options_.lease_duration).count());
  Result<bool> written = co_await write(std::move(lease), exists);
  if (written && *written) renewed_at_ = now;
  co_return written;
}

Task<Result<bool>> LeaderElector::write(kube::Lease lease, bool exists) {
  kube::WriteOptions options;
  options.always_allowed = true;
  options.timeout = options_.renew_deadline / 2;
  json::Value object = to_json(lease, exists);
  // The version in it makes certain that nobody wrote in between; as a patch it leaves alone what
  // others have put on the object.
  const Result<kube::Lease> written =
      exists ? co_await api_.patch(options_.name, {kube::PatchKind::kMerge, std::move(object)},
                                   std::move(options))
             : co_await api_.create(std::move(object), std::move(options));
  if (written) {
    observe(*written);
    co_return true;
  }
  const Code code = written.error().code();
  if (code != Code::kConflict && code != Code::kAlreadyExists && code != Code::kNotFound) {
    co_return fail(written.error());
  }
  // Somebody else was faster, or a retry met its own first attempt: the next reading tells which.
  co_return false;
}

void LeaderElector::observe(const kube::Lease& lease) {
  // Any change restarts the clock, seen by ours alone.
  const bool changed = lease.meta.resource_version != observed_.meta.resource_version ||
                       lease.meta.uid != observed_.meta.uid;
  if (changed) observed_at_ = executor_.now();
  observed_ = lease;
}

json::Value LeaderElector::to_json(const kube::Lease& lease, bool exists) const {
  const auto time = [](const std::optional<WallTime>& value) {
    return value ? json::Value(format_rfc3339(*value, TimePrecision::kMicroseconds))
                 : json::Value();
  };
  json::Value meta = json::Value::object({{"name", options_.name}, {"namespace", options_.ns}});
  if (exists) meta["resourceVersion"] = lease.meta.resource_version;
  json::Value spec = json::Value::object({
      {"holderIdentity", lease.holder},
      {"leaseDurationSeconds", lease.duration_seconds},
      {"acquireTime", time(lease.acquired)},
      {"renewTime", time(lease.renewed)},
      {"leaseTransitions", lease.transitions},
  });
  return json::Value::object({{"apiVersion", lease.kResource.api_version()},
                              {"kind", lease.kResource.kind},
                              {"metadata", std::move(meta)},
                              {"spec", std::move(spec)}});
}

}  // namespace mainspring::control
