// slurm/accounting_request.cc
#include "slurm/accounting_request.h"

#include "slurm/request_body.h"

namespace mainspring::slurm {
namespace {

using json::Value;

Value one(const AccountSpec& spec) {
  Value out = Value::object({{"name", spec.name}});
  add(out, "description", spec.description);
  add(out, "organization", spec.organization);
  return out;
}

Value one(const UserSpec& spec) {
  Value out = Value::object({{"name", spec.name}});
  Value defaults = Value::object();
  add(defaults, "account", spec.default_account);
  add(defaults, "wckey", spec.default_wckey);
  add_object(out, "default", std::move(defaults));
  add(out, "administrator_level", spec.administrator_level);
  return out;
}

Value one(const AssociationSpec& spec) {
  Value out =
      Value::object({{"account", spec.account}, {"user", spec.user}, {"cluster", spec.cluster}});
  add(out, "partition", spec.partition);
  add(out, "parent_account", spec.parent_account);
  add(out, "comment", spec.comment);
  add(out, "qos", spec.qos);
  add(out, "shares_raw", spec.shares_raw);
  add(out, "priority", spec.priority);
  Value defaults = Value::object(), per = Value::object();
  add(defaults, "qos", spec.default_qos);
  add_object(out, "default", std::move(defaults));
  add(per, "count", spec.max_jobs);
  add(per, "submitted", spec.max_submitted);
  add(per, "wall_clock", spec.max_wall_clock);
  if (!per.empty()) out["max"]["jobs"].set("per", std::move(per));
  return out;
}

Value one(const QosSpec& spec) {
  Value out = Value::object({{"name", spec.name}});
  add(out, "description", spec.description);
  add(out, "flags", spec.flags);
  add(out, "priority", spec.priority);
  Value preempt = Value::object(), max = Value::object();
  add(preempt, "list", spec.preempts);
  add(preempt, "mode", spec.preempt_mode);
  add_object(out, "preempt", std::move(preempt));
  if (spec.max_jobs_per_user.set() || spec.max_jobs_per_user.is_infinite()) {
    add(max["jobs"]["active_jobs"]["per"], "user", spec.max_jobs_per_user);
  }
  if (spec.max_wall_clock_per_job.set() || spec.max_wall_clock_per_job.is_infinite()) {
    add(max["wall_clock"]["per"], "job", spec.max_wall_clock_per_job);
  }
  if (!max.empty()) out["limits"].set("max", std::move(max));
  return out;
}

Value one(const WckeySpec& spec) {
  return Value::object({{"name", spec.name}, {"cluster", spec.cluster}, {"user", spec.user}});
}

Value one(const ClusterSpec& spec) { return Value::object({{"name", spec.name}}); }

Value one(const TresSpec& spec) {
  return Value::object({{"type", spec.type}, {"name", spec.name}});
}

template <class Spec>
Value list_of(std::string_view name, std::span<const Spec> specs) {
  Value list = Value::array();
  for (const Spec& spec : specs) list.push_back(one(spec));
  Value out = Value::object();
  out.set(name, std::move(list));
  return out;
}

}  // namespace

Value to_json(std::span<const AccountSpec> specs) { return list_of("accounts", specs); }
Value to_json(std::span<const UserSpec> specs) { return list_of("users", specs); }
Value to_json(std::span<const AssociationSpec> specs) { return list_of("associations", specs); }
Value to_json(std::span<const QosSpec> specs) { return list_of("qos", specs); }
Value to_json(std::span<const WckeySpec> specs) { return list_of("wckeys", specs); }
Value to_json(std::span<const ClusterSpec> specs) { return list_of("clusters", specs); }
Value to_json(std::span<const TresSpec> specs) { return list_of("TRES", specs); }

Value to_json(const AccountAssociation& request) {
  Value association = Value::object(), account = Value::object();
  add(association, "parent", request.parent);
  add(association, "defaultqos", request.default_qos);
  add(association, "qoslevel", request.qos);
  add(association, "fairshare", request.fairshare);
  Value condition = Value::object();
  add(condition, "accounts", request.accounts);
  add(condition, "clusters", request.clusters);
  add_object(condition, "association", std::move(association));
  add(account, "description", request.description);
  add(account, "organization", request.organization);
  return Value::object(
      {{"association_condition", std::move(condition)}, {"account", std::move(account)}});
}

Value to_json(const UserAssociation& request) {
  Value association = Value::object(), user = Value::object();
  add(association, "defaultqos", request.default_qos);
  add(association, "qoslevel", request.qos);
  add(association, "fairshare", request.fairshare);
  Value condition = Value::object();
  add(condition, "accounts", request.accounts);
  add(condition, "clusters", request.clusters);
  add(condition, "partitions", request.partitions);
  add(condition, "users", request.users);
  add_object(condition, "association", std::move(association));
  add(user, "adminlevel", request.administrator_level);
  add(user, "defaultaccount", request.default_account);
  return Value::object(
      {{"association_condition", std::move(condition)}, {"user", std::move(user)}});
}

Value to_json(const DbJobUpdate& update) {
  Value comment = Value::object(), out = Value::object();
  add(comment, "administrator", update.admin_comment);
  add(comment, "job", update.comment);
  add(comment, "system", update.system_comment);
  add_object(out, "comment", std::move(comment));
  add(out, "extra", update.extra);
  if (update.derived_exit_code) {
    // Read as an exit code, and written as wait() has it, where 3 would be a signal.
    constexpr int kExitBits = 8;
    const auto status = std::int64_t{*update.derived_exit_code} << kExitBits;
    out["derived_exit_code"] = Value::object({{"return_code", to_json(Number(status))}});
  }
  return out;
}

Value to_json(const DbJobUpdate& update, std::span<const JobId> jobs) {
  Value ids = Value::array();
  for (const JobId job : jobs) ids.push_back(job.text());
  return Value::object({{"job_id_list", std::move(ids)}, {"job_rec", to_json(update)}});
}

}  // namespace mainspring::slurm
