#include "api/validate.h"

#include <fmt/format.h>

#include <algorithm>

#include "api/checks.h"
#include "base/text.h"

namespace mainspring::api {
namespace {

constexpr std::string_view kKnownFiles[] = {
    "acct_gather.conf", "burst_buffer.conf",  "cgroup.conf",    "cli_filter.lua", "gres.conf",
    "helpers.conf",     "job_container.conf", "job_submit.lua", "mpi.conf",       "namespace.yaml",
    "oci.conf",         "plugstack.conf",     "topology.conf",  "topology.yaml"};

void check_loginset(Checks& checks, const LoginSet& loginset) {
  const LoginSetSpec& spec = loginset.spec;
  checks.required_name("spec.controllerRef.name", spec.controller_ref.name);
  checks.not_negative("spec.replicas", spec.replicas);
  if (spec.sssd_conf_ref.name.empty()) {
    checks.refuse("spec.sssdConfRef.name", "is empty: set it to the Secret that holds sssd.conf");
  }
  checks.key_ref("spec.sssdConfRef", spec.sssd_conf_ref);
  checks.text("spec.rootSshAuthorizedKeys", spec.root_ssh_authorized_keys);
  checks.text("spec.extraSshdConfig", spec.extra_sshd_config);
  checks.service(spec.service);
}

void compare_loginset(Checks& checks, const LoginSet& before, const LoginSet& after) {
  checks.immutable("spec.controllerRef.name", before.spec.controller_ref.name,
                   after.spec.controller_ref.name);
}

void check_restapi(Checks& checks, const RestApi& restapi) {
  checks.name("spec.controllerRef.name", restapi.spec.controller_ref.name);
  checks.not_negative("spec.replicas", restapi.spec.replicas);
  checks.service(restapi.spec.service);
}

void check_accounting(Checks& checks, const Accounting& accounting) {
  const AccountingSpec& spec = accounting.spec;
  checks.key_ref("spec.slurmKeyRef", spec.slurm_key_ref);
  checks.key_ref("spec.jwtKeyRef", spec.jwt_key_ref);
  checks.key_ref("spec.jwtHs256KeyRef", spec.jwt_hs256_key_ref);
  checks.key_ref("spec.jwksKeyRef", spec.jwks_key_ref);
  checks.address("spec.externalConfig", spec.external_config);
  checks.word("spec.storageConfig.host", spec.storage.host);
  checks.port("spec.storageConfig.port", spec.storage.port, true);
  checks.word("spec.storageConfig.database", spec.storage.database);
  checks.word("spec.storageConfig.username", spec.storage.username);
  checks.key_ref("spec.storageConfig.passwordKeyRef", spec.storage.password_key_ref);
  checks.text("spec.extraConf", spec.extra_conf);
  checks.service(spec.service);
  checks.deprecated_jwt_key(spec);
}

void compare_accounting(Checks& checks, const Accounting& before, const Accounting& after) {
  checks.immutable_jwt_key(before.spec, after.spec);
}

void check_token(Checks& checks, const Token& token) {
  const TokenSpec& spec = token.spec;
  checks.key_ref("spec.jwtKeyRef", spec.jwt_key_ref);
  checks.key_ref("spec.jwtHs256KeyRef", spec.jwt_hs256_key_ref);
  checks.key_ref("spec.secretRef", spec.secret_ref);
  checks.deprecated_jwt_key(spec);
  if (spec.username.empty()) checks.refuse("spec.username", "is empty: set it to a Slurm user");
  checks.word("spec.username", spec.username);
  if (spec.lifetime < seconds(1)) {
    checks.refuse("spec.lifetime",
                  "is not a duration of at least 1s: write one such as 15m, 1h or 720h");
  }
  const std::string secret = token.secret().name;
  if (!spec.secret_ref && !is_dns1123_subdomain(secret)) {
    checks.refuse(
        "spec.secretRef",
        fmt::format("is needed for the user {}, because {} cannot be the name of a Secret",
                    quoted(spec.username), quoted(secret)));
  }
  const KeyRef* const key = jwt_key_of(spec);
  if (key != nullptr && key->name == secret) {
    checks.refuse("spec.secretRef.name",
                  fmt::format("{} holds the key that tokens are signed with: choose another Secret",
                              quoted(secret)));
  }
}

void compare_token(Checks& checks, const Token& before, const Token& after) {
  checks.immutable_jwt_key(before.spec, after.spec);
}

}  // namespace

Findings validate(const LoginSet& after, const LoginSet* before) {
  return validate_with(after, before, &check_loginset, &compare_loginset);
}

Findings validate(const RestApi& after, const RestApi* before) {
  return validate_with<RestApi>(after, before, &check_restapi, nullptr);
}

Findings validate(const Accounting& after, const Accounting* before) {
  return validate_with(after, before, &check_accounting, &compare_accounting);
}

Findings validate(const Token& after, const Token* before) {
  return validate_with(after, before, &check_token, &compare_token);
}

ConfigFile judge_config_file(std::string_view name) {
  if (name == "slurm.conf" || name == "slurmdbd.conf") return ConfigFile::kRefused;
  const bool known =
      std::find(std::begin(kKnownFiles), std::end(kKnownFiles), name) != std::end(kKnownFiles);
  return known ? ConfigFile::kKnown : ConfigFile::kUnknown;
}

}  // namespace mainspring::api
