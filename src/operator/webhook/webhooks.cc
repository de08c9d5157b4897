// operator/webhook/webhooks.cc
#include "operator/webhook/webhooks.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "api/names.h"
#include "base/text.h"
#include "control/admission.h"
#include "kube/storage.h"
#include "net/wait.h"
#include "operator/webhook/binding.h"
#include "operator/webhook/config_check.h"
#include "operator/webhook/config_parts.h"
#include "operator/webhook/review.h"

namespace mainspring::op {
namespace {

using control::AdmissionRequest;
using control::AdmissionResponse;
using Hooks = std::shared_ptr<const WebhookOptions>;
using Answer = Task<Result<AdmissionResponse>>;

// The kinds that are judged by themselves.
template <class T>
Answer review_alone(Hooks, AdmissionRequest request) {
  MS_CO_TRY(const Versions<T> versions, versions_of<T>(request));
  if (versions.settled) co_return AdmissionResponse::allow();
  co_return answer(name_of(request), api::validate(*versions.after, versions.before.get()));
}

Answer review_accounting(Hooks, AdmissionRequest request) {
  MS_CO_TRY(const auto versions, versions_of<api::Accounting>(request));
  if (versions.settled) co_return AdmissionResponse::allow();
  api::Findings findings = api::validate(*versions.after, versions.before.get());
  append(findings, check_slurmdbd(*versions.after, versions.before.get()));
  co_return answer(name_of(request), std::move(findings));
}

void warn_unread(api::Findings& findings, const Error& error) {
  findings.warnings.push_back("the configuration could not be checked against other objects: " +
                              error.to_string());
}

std::set<std::string> config_map_names(const api::Controller& after,
                                       const api::Controller* before) {
  std::set<std::string> names;
  for (std::string& name : after.config_map_names()) names.insert(std::move(name));
  if (before == nullptr) return names;
  for (std::string& name : before->config_map_names()) names.insert(std::move(name));
  return names;
}

// Files of configFileRefs must be there; scripts may follow.
void check_refs(api::Findings& findings, const api::Controller& controller,
                const api::Controller* before, const ConfigParts& parts) {
  const std::set<std::string> known =
      before == nullptr ? std::set<std::string>() : config_map_names(*before, nullptr);
  std::size_t index = 0;
  for (const api::NameRef& ref : controller.spec.config_file_refs) {
    const std::string field = fmt::format("spec.configFileRefs[{}].name", index++);
    const auto found = parts.config_maps.find(ref.name);
    if (found == parts.config_maps.end()) {
      findings.problems.push_back(
          {field, fmt::format("there is no ConfigMap \"{}\" in namespace {}; create it first",
                              ref.name, controller.meta.ns)});
      continue;
    }
    append(findings, check_file_names(field, FileKind::kConfig, *found->second, nullptr));
  }
  for (const std::string& name : controller.config_map_names()) {
    const auto& files = controller.spec.config_file_refs;
    const bool is_file =
        std::any_of(files.begin(), files.end(), [&](const auto& ref) { return ref.name == name; });
    if (is_file) continue;
    if (const auto found = parts.config_maps.find(name); found != parts.config_maps.end()) {
      const kube::ConfigMap& map = *found->second;
      const kube::ConfigMap* const earlier = known.contains(name) ? &map : nullptr;
      append(findings, check_file_names("spec", FileKind::kScript, map, earlier));
      continue;
    }
    findings.warnings.push_back(fmt::format(
        "there is no ConfigMap \"{}\" yet; the configuration stays as it is until it is there",
        name));
  }
}

void check_claim(api::Findings& findings, const kube::PersistentVolumeClaim& claim) {
  const auto& modes = claim.access_modes;
  if (std::find(modes.begin(), modes.end(), std::string_view("ReadWriteMany")) != modes.end())
    return;
  findings.problems.push_back(
      {"spec.persistence.existingClaim",
       fmt::format(
           "PersistentVolumeClaim \"{}\" cannot be mounted by several slurmctld at once; use "
           "one with the access mode ReadWriteMany",
           claim.meta.name)});
}

struct ControllerSurroundings {
  ConfigParts parts;
  std::shared_ptr<const kube::PersistentVolumeClaim> claim;
};

Task<Result<ControllerSurroundings>> read_surroundings(
    kube::Client* client, std::shared_ptr<const api::Controller> controller,
    std::set<std::string> names) {
  ControllerSurroundings found;
  MS_CO_TRY(found.parts, co_await read_config_parts(client, controller, std::move(names)));
  const api::ControllerSpec& spec = controller->spec;
  if (spec.ha_enabled && spec.persistence && !spec.persistence->existing_claim.empty()) {
    MS_CO_TRY(found.claim, co_await get_if_there<kube::PersistentVolumeClaim>(
                               client, controller->meta.ns, spec.persistence->existing_claim));
  }
  co_return found;
}

Answer review_controller(Hooks hooks, AdmissionRequest request) {
  MS_CO_TRY(const auto versions, versions_of<api::Controller>(request));
  if (versions.settled) co_return AdmissionResponse::allow();
  const api::Controller& after = *versions.after;
  const api::Controller* const before = versions.before.get();
  api::Findings findings = api::validate(after, before);
  auto found = co_await net::with_timeout(
      hooks->read_limit, "reading what the Controller refers to",
      read_surroundings(&hooks->client, versions.after, config_map_names(after, before)));
  if (!found) {
    warn_unread(findings, found.error());
    co_return answer(name_of(request), std::move(findings));
  }
  check_refs(findings, after, before, found->parts);
  if (found->claim) check_claim(findings, *found->claim);
  const build::SlurmConfInputs now = found->parts.inputs(after);
  if (before == nullptr) {
    append(findings, check_config(ConfigSubject::kController, {now}, nullptr));
  } else {
    const build::SlurmConfInputs then = found->parts.inputs(*before);
    const ConfigVersion earlier{then};
    append(findings, check_config(ConfigSubject::kController, {now}, &earlier));
  }
  co_return answer(name_of(request), std::move(findings));
}

// Whether slurm.conf, or what slurmd tells slurmctld, is another for the change.
bool changes_config(const api::NodeSet& after, const api::NodeSet& before) {
  return after.spec.controller_ref != before.spec.controller_ref ||
         after.spec.partition_enabled != before.spec.partition_enabled ||
         after.spec.partition_config != before.spec.partition_config ||
         after.spec.extra_conf != before.spec.extra_conf ||
         after.spec.slurmd != before.spec.slurmd || after.slurm_name() != before.slurm_name() ||
         after.hostname_prefix() != before.hostname_prefix() ||
         after.spec.scaling_mode != before.spec.scaling_mode;
}

struct Owner {
  std::shared_ptr<const api::Controller> controller;  // Null where there is none.
  ConfigParts parts;
};

Task<Result<Owner>> read_owner(kube::Client* client, std::string ns, std::string name) {
  Owner owner;
  MS_CO_TRY(owner.controller, co_await get_if_there<api::Controller>(client, ns, name));
  if (!owner.controller) co_return owner;
  MS_CO_TRY(owner.parts, co_await read_config_parts(client, owner.controller,
                                                    config_map_names(*owner.controller, nullptr)));
  co_return owner;
}

// What the names of its workers begin with; empty where they are those of Kubernetes nodes.
std::string stem_of(const api::NodeSet& nodeset) {
  const json::Value* const on_host = nodeset.spec.pod_template.spec.find("hostNetwork");
  if (nodeset.spec.scaling_mode == api::ScalingMode::kDaemonSet ||
      (on_host != nullptr && on_host->as_bool().value_or(false))) {
    return {};
  }
  const std::string_view prefix = nodeset.hostname_prefix();
  return prefix.empty() ? nodeset.meta.name + "-" : std::string(prefix);
}

// "gpu-" and "gpu-" are, and so are "gpu-" and "gpu-1", of which each has a gpu-10.
bool may_be_the_same(std::string_view a, std::string_view b) {
  if (a.size() > b.size()) std::swap(a, b);
  if (a.empty() || !b.starts_with(a)) return false;
  b.remove_prefix(a.size());
  return std::all_of(b.begin(), b.end(), is_ascii_digit);
}

// Two slurmd with one name share a node in Slurm, and each other's jobs.
void check_names(api::Findings& findings, const ConfigParts& parts,
                 const Versions<api::NodeSet>& versions) {
  const api::NodeSet& after = *versions.after;
  const std::string stem = stem_of(after);
  const bool was_so = versions.before && stem_of(*versions.before) == stem &&
                      versions.before->spec.controller_ref == after.spec.controller_ref;
  if (was_so) return;
  for (const auto& other : parts.nodesets) {
    if (other->meta.name == after.meta.name || !may_be_the_same(stem, stem_of(*other))) continue;
    findings.problems.push_back(
        {after.hostname_prefix().empty() ? "metadata.name" : "spec.template.spec.hostname",
         fmt::format("its workers would be called {}0, {}1 and so on, and so may those of NodeSet "
                     "\"{}\" of the same Controller: use another prefix",
                     stem, stem, other->meta.name)});
    return;
  }
}

api::Findings check_nodeset(Owner owner, const Versions<api::NodeSet>& versions) {
  ConfigParts then = owner.parts;
  then.put_nodeset(versions.after->meta.name, versions.before);
  owner.parts.put_nodeset(versions.after->meta.name, versions.after);
  const build::SlurmConfInputs after = owner.parts.inputs(*owner.controller);
  const build::SlurmConfInputs before = then.inputs(*owner.controller);
  const ConfigVersion earlier{before, versions.before.get()};
  return check_config(ConfigSubject::kNodeSet, {after, versions.after.get()}, &earlier);
}

Answer review_nodeset(Hooks hooks, AdmissionRequest request) {
  MS_CO_TRY(const auto versions, versions_of<api::NodeSet>(request));
  if (versions.settled) co_return AdmissionResponse::allow();
  const api::NodeSet& after = *versions.after;
  api::Findings findings = api::validate(after, versions.before.get());
  const std::string controller = after.spec.controller_ref.name;
  const bool matters = versions.before == nullptr || changes_config(after, *versions.before);
  if (controller.empty() || !matters) co_return answer(name_of(request), std::move(findings));
  auto owner = co_await net::with_timeout(hooks->read_limit, "reading the NodeSet's Controller",
                                          read_owner(&hooks->client, request.ns, controller));
  if (!owner) {
    warn_unread(findings, owner.error());
  } else if (owner->controller == nullptr) {
    findings.warnings.push_back(fmt::format(
        "there is no Controller \"{}\" yet; no worker starts until it is there", controller));
  } else {
    check_names(findings, owner->parts, versions);
    append(findings, check_nodeset(*std::move(owner), versions));
  }
  co_return answer(name_of(request), std::move(findings));
}

Task<Result<std::vector<Owner>>> read_owners_of_config(kube::Client* client, std::string ns,
                                                       std::string config_map) {
  MS_CO_TRY(const auto all, co_await kube::Api<api::Controller>(*client, ns).list_all());
  std::vector<Owner> owners;
  for (const auto& controller : all.items) {
    if (controller->meta.deleting()) continue;
    const std::set<std::string> names = config_map_names(*controller, nullptr);
    if (!names.contains(config_map)) continue;
    MS_CO_TRY(ConfigParts parts, co_await read_config_parts(client, controller, names));
    owners.push_back({controller, std::move(parts)});
  }
  co_return owners;
}

api::Findings check_config_map(Owner owner, const Versions<kube::ConfigMap>& versions) {
  const api::Controller& controller = *owner.controller;
  const auto& refs = controller.spec.config_file_refs;
  const std::string& name = versions.after->meta.name;
  const bool is_file =
      std::any_of(refs.begin(), refs.end(), [&](const auto& ref) { return ref.name == name; });
  api::Findings findings = check_file_names("data", is_file ? FileKind::kConfig : FileKind::kScript,
                                            *versions.after, versions.before.get());
  ConfigParts then = owner.parts;
  then.config_maps.erase(name);
  if (versions.before) then.put(versions.before);
  owner.parts.put(versions.after);
  const build::SlurmConfInputs after = owner.parts.inputs(controller);
  const build::SlurmConfInputs before = then.inputs(controller);
  const ConfigVersion earlier{before};
  append(findings, check_config(ConfigSubject::kConfigMap, {after}, &earlier));
  for (api::Problem& problem : findings.problems) {
    problem.message = fmt::format("Controller {}: {}", controller.meta.name, problem.message);
  }
  return findings;
}

// A deletion is the user's right, and the cluster goes on with the files that it has.
api::Findings warn_of_deletion(const std::vector<Owner>& owners) {
  api::Findings findings;
  for (const Owner& owner : owners) {
    findings.warnings.push_back(fmt::format(
        "Controller {} still refers to this ConfigMap; its configuration stays as it is until the "
        "ConfigMap is back or the reference is removed",
        owner.controller->meta.name));
  }
  return findings;
}

Answer review_config_map(Hooks hooks, AdmissionRequest request) {
  const bool deletion = request.operation == "DELETE";
  MS_CO_TRY(const auto versions, versions_of<kube::ConfigMap>(request));
  if (versions.settled && !deletion) co_return AdmissionResponse::allow();
  auto owners = co_await net::with_timeout(
      hooks->read_limit, "reading the Controllers that refer to the ConfigMap",
      read_owners_of_config(&hooks->client, request.ns, request.name));
  api::Findings findings;
  if (!owners) {
    warn_unread(findings, owners.error());
  } else if (deletion) {
    findings = warn_of_deletion(*owners);
  } else {
    for (Owner& owner : *owners) append(findings, check_config_map(std::move(owner), versions));
  }
  co_return answer(name_of(request), std::move(findings));
}

Answer bind(Hooks hooks, AdmissionRequest request) {
  co_return co_await review_binding(&hooks->client, hooks->read_limit, hooks->log,
                                    std::move(request));
}

}  // namespace

void add_webhooks(http::Router& router, WebhookOptions options) {
  const Hooks hooks = std::make_shared<const WebhookOptions>(std::move(options));
  const auto add = [&](const std::string& path, control::AdmissionKind kind,
                       Answer (*handler)(Hooks, AdmissionRequest)) {
    control::AdmissionOptions admission;
    admission.kind = kind;
    admission.metrics = hooks->metrics;
    admission.handler = [hooks, handler](AdmissionRequest request) {
      return handler(hooks, std::move(request));
    };
    control::add_admission(router, path, std::move(admission));
  };
  const auto validate = [&](std::string_view kind, Answer (*handler)(Hooks, AdmissionRequest)) {
    add(fmt::format("/validate-slinky-slurm-net-v1beta1-{}", kind),
        control::AdmissionKind::kValidating, handler);
  };
  validate("controller", review_controller);
  validate("nodeset", review_nodeset);
  validate("loginset", review_alone<api::LoginSet>);
  validate("restapi", review_alone<api::RestApi>);
  validate("accounting", review_accounting);
  validate("token", review_alone<api::Token>);
  add("/validate-config", control::AdmissionKind::kValidating, review_config_map);
  add("/mutate--v1-binding", control::AdmissionKind::kMutating, bind);
}

}  // namespace mainspring::op
