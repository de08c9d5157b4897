// operator/build/daemons.h
//
// The objects of an Accounting, a RestApi and a LoginSet. Pure: everything they depend on is handed
// in. A Controller or Secret that is not there is for the caller to report.
//
// `live_annotations` are those of the Deployment or StatefulSet itself as it is, null where there
// is none: one that the operator before us made is not restarted for being taken over; see
// takeover.h. Whatever else is handed in must be complete by then, since its first change rolls the
// pods.
#pragma once

#include <map>
#include <string>

#include "api/accounting.h"
#include "api/controller.h"
#include "api/loginset.h"
#include "api/restapi.h"
#include "base/result.h"
#include "base/secret.h"
#include "kube/core_objects.h"
#include "operator/build/slurm_conf.h"

namespace mainspring::op::build {

struct AccountingInputs {
  const api::Accounting& accounting;
  const kube::SecretObject* slurm_key = nullptr;
  const kube::SecretObject* jwt_key = nullptr;
  // The text of spec.jwksKeyRef, found good (jwks.h). slurmdbd gets a copy of it: it ends at one
  // that it cannot read, and whoever changes the ConfigMap next does not ask us.
  std::optional<std::string> jwks = {};
  std::string slurmdbd_conf;
  const json::StringMap* live_annotations = nullptr;
};
Result<json::Value> accounting_service(const AccountingInputs& inputs);
json::Value accounting_secret(const AccountingInputs& inputs);
Result<json::Value> accounting_stateful_set(const AccountingInputs& inputs);

struct RestApiInputs {
  const api::RestApi& restapi;
  const api::Controller& controller;
  // X-config. Of its slurm.conf a change rolls the pods only where slurmrestd would not see it
  // without a restart.
  const kube::ConfigMap* config = nullptr;
  // The copies of what the Controller refers to, by name: slurm.conf may include files of theirs.
  ConfigMaps approved = {};
  const kube::SecretObject* slurm_key = nullptr;
  const json::StringMap* live_annotations = nullptr;
};
Result<json::Value> restapi_service(const RestApiInputs& inputs);
Result<json::Value> restapi_deployment(const RestApiInputs& inputs);

struct LoginSetInputs {
  const api::LoginSet& loginset;
  const api::Controller& controller;
  const kube::SecretObject* ssh_host_keys = nullptr;
  const kube::SecretObject* sssd_conf = nullptr;
  const kube::SecretObject* slurm_key = nullptr;
  std::string cluster_domain = "cluster.local";
  const json::StringMap* live_annotations = nullptr;
};
Result<json::Value> loginset_service(const LoginSetInputs& inputs);
json::Value loginset_ssh_config(const LoginSetInputs& inputs);
// From the keys of ssh_keys.h: file name to content. Immutable.
json::Value loginset_host_keys(const LoginSetInputs& inputs,
                               const std::map<std::string, Secret>& keys);
Result<json::Value> loginset_deployment(const LoginSetInputs& inputs);

// "HOST:PORT" of slurmctld for --conf-server.
std::string conf_server(const api::Controller& controller);

}  // namespace mainspring::op::build
