// api/accounting.h
//
// Accounting: slurmdbd and the database behind it. A value.
#pragma once

#include "api/simple_status.h"

namespace mainspring::api {

struct StorageConfig {
  std::string host;
  std::int32_t port = 3306;
  std::string database = "slurm_acct_db";
  std::string username;
  KeyRef password_key_ref;

  bool operator==(const StorageConfig&) const = default;
};

constexpr auto json_fields(json::Tag<StorageConfig>) {
  using T = StorageConfig;
  return json::fields(json::field("host", &T::host), clamped_field<&T::port>("port"),
                      json::field("database", &T::database), json::field("username", &T::username),
                      json::field("passwordKeyRef", &T::password_key_ref));
}

struct AccountingSpec {
  std::optional<KeyRef> slurm_key_ref;
  std::optional<KeyRef> jwt_key_ref;
  std::optional<KeyRef> jwt_hs256_key_ref;
  std::optional<KeyRef> jwks_key_ref;  // Of a ConfigMap.
  bool external = false;
  std::optional<ExternalAddress> external_config;
  json::Value slurmdbd;
  PodTemplate pod_template;
  StorageConfig storage;
  std::string extra_conf;
  ServiceTemplate service;

  bool operator==(const AccountingSpec&) const = default;
};

constexpr auto json_fields(json::Tag<AccountingSpec>) {
  using T = AccountingSpec;
  return json::fields(
      json::field("slurmKeyRef", &T::slurm_key_ref), json::field("jwtKeyRef", &T::jwt_key_ref),
      json::field("jwtHs256KeyRef", &T::jwt_hs256_key_ref),
      json::field("jwksKeyRef", &T::jwks_key_ref), json::field("external", &T::external),
      json::field("externalConfig", &T::external_config), json::field("slurmdbd", &T::slurmdbd),
      json::field("template", &T::pod_template), json::field("storageConfig", &T::storage),
      json::field("extraConf", &T::extra_conf), json::field("service", &T::service));
}

struct Accounting {
  inline static const kube::Resource kResource{"slinky.slurm.net", "v1beta1", "accountings",
                                               "Accounting", true};
  kube::Meta meta;
  AccountingSpec spec;
  SimpleStatus status;

  bool operator==(const Accounting&) const = default;
};

constexpr auto json_fields(json::Tag<Accounting>) {
  return json::fields(json::field("metadata", &Accounting::meta),
                      json::field("spec", &Accounting::spec),
                      json::field("status", &Accounting::status));
}

}  // namespace mainspring::api
