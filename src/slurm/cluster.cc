#include "slurm/cluster.h"

#include <algorithm>

namespace mainspring::slurm {
namespace {

struct ShareTree {
  std::vector<Share> shares;
};
constexpr auto json_fields(json::Tag<ShareTree>) {
  return json::fields(json::field("shares", &ShareTree::shares));
}

}  // namespace

constexpr auto json_fields(json::Tag<RunningConf>) {
  using json::field;
  using R = RunningConf;
  return json::fields(
      field("slurm_conf", &R::conf),
      json::group("slurm_conf_meta", field("LastUpdate", &R::last_update),
                  field("BOOT_TIME", &R::boot_time), field("HashValue", &R::file_hash),
                  field("SLURM_CONF", &R::path), field("SLURM_VERSION", &R::release)));
}

Task<Result<std::vector<Ping>>> ClusterControl::ping() const {
  co_return co_await calls_.list<Ping>(calls_.make(Endpoint::kPing), "pings");
}

Task<Result<Diag>> ClusterControl::diag() const {
  co_return co_await calls_.member<Diag>(calls_.make(Endpoint::kDiag), "statistics");
}

Task<Result<RunningConf>> ClusterControl::conf() const {
  MS_CO_TRY(Answer answer, co_await calls_.client().send(calls_.make(Endpoint::kConf)));
  json::Reader reader;
  co_return json::decode_body<RunningConf>(reader, std::move(answer.body));
}

Task<Result<std::vector<License>>> ClusterControl::licenses() const {
  co_return co_await calls_.list<License>(calls_.make(Endpoint::kLicenses), "licenses");
}

Task<Result<std::vector<Share>>> ClusterControl::shares(std::vector<std::string> accounts,
                                                        std::vector<std::string> users) const {
  Call call = calls_.make(Endpoint::kShares);
  for (std::string& each : accounts) call.query.emplace_back("accounts", std::move(each));
  for (std::string& each : users) call.query.emplace_back("users", std::move(each));
  MS_CO_TRY(ShareTree tree, co_await calls_.member<ShareTree>(std::move(call), "shares"));
  co_return std::move(tree.shares);
}

Task<Result<void>> ClusterControl::reconfigure() const {
  co_return co_await calls_.send(calls_.make(Endpoint::kReconfigure));
}

Task<Result<ControllerHealth>> ClusterControl::health() const {
  MS_CO_TRY(const std::vector<Ping> pings, co_await ping());
  ControllerHealth health;
  health.responding =
      std::any_of(pings.begin(), pings.end(), [](const Ping& each) { return each.responding; });
  if (!health.responding) co_return health;
  MS_CO_TRY(const Version spoken, co_await calls_.client().version());
  if (require(spoken, Endpoint::kConf)) {
    MS_CO_TRY(const RunningConf running, co_await conf());
    health.boot_time = running.boot_time;
  } else {
    MS_CO_TRY(const Diag now, co_await diag());
    health.boot_time = now.since.value_or(0);
  }
  co_return health;
}

}  // namespace mainspring::slurm
