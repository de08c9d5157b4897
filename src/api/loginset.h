// api/loginset.h
//
// LoginSet: pods that users log into, with sackd, sshd and sssd. A value.
#pragma once

#include "api/common.h"

namespace mainspring::api {

struct LoginSetSpec {
  NameRef controller_ref;
  std::int32_t replicas = 1;
  json::Value login;
  json::Value initconf;
  PodTemplate pod_template;
  std::string root_ssh_authorized_keys;
  std::string extra_sshd_config;
  KeyRef sssd_conf_ref;
  json::Value strategy;  // A DeploymentStrategy as written; null where absent.
  ServiceTemplate service;

  bool operator==(const LoginSetSpec&) const = default;
};

constexpr auto json_fields(json::Tag<LoginSetSpec>) {
  using T = LoginSetSpec;
  return json::fields(json::field("controllerRef", &T::controller_ref),
                      json::field("replicas", &T::replicas), json::field("login", &T::login),
                      json::field("initconf", &T::initconf),
                      json::field("template", &T::pod_template),
                      json::field("rootSshAuthorizedKeys", &T::root_ssh_authorized_keys),
                      json::field("extraSshdConfig", &T::extra_sshd_config),
                      json::field("sssdConfRef", &T::sssd_conf_ref),
                      json::field("strategy", &T::strategy), json::field("service", &T::service));
}

struct LoginSetStatus {
  std::int32_t replicas = 0;
  std::string selector;
  kube::Conditions conditions;
  std::int64_t observed_generation = 0;

  bool operator==(const LoginSetStatus&) const = default;
};

constexpr auto json_fields(json::Tag<LoginSetStatus>) {
  using T = LoginSetStatus;
  return json::fields(json::field("replicas", &T::replicas), json::field("selector", &T::selector),
                      json::field("conditions", &T::conditions),
                      json::field("observedGeneration", &T::observed_generation));
}

struct LoginSet {
  inline static const kube::Resource kResource{"slinky.slurm.net", "v1beta1", "loginsets",
                                               "LoginSet", true};
  kube::Meta meta;
  LoginSetSpec spec;
  LoginSetStatus status;

  bool operator==(const LoginSet&) const = default;
};

constexpr auto json_fields(json::Tag<LoginSet>) {
  return json::fields(json::field("metadata", &LoginSet::meta),
                      json::field("spec", &LoginSet::spec),
                      json::field("status", &LoginSet::status));
}

}  // namespace mainspring::api
