#include <fmt/format.h>

#include <algorithm>

#include "api/checks.h"
#include "api/validate.h"
#include "base/text.h"

namespace mainspring::api {
namespace {

// The name of tables in the accounting database and of a folder begins with it.
constexpr std::size_t kLongestClusterName = 40;

bool is_upper(char c) { return c != ascii_lower(c); }

bool is_cluster_name_character(char c) {
  return is_ascii_digit(c) || (ascii_lower(c) >= 'a' && ascii_lower(c) <= 'z') || c == '_' ||
         c == '-' || c == '.';
}

void check_cluster_name(Checks& checks, const Controller& controller) {
  const std::string name = controller.cluster_name();
  const std::string_view origin =
      controller.spec.cluster_name.empty() ? " (from namespace and name)" : "";
  if (name.size() > kLongestClusterName) {
    checks.refuse("spec.clusterName",
                  fmt::format("{}{} has {} characters: set one of at most {}", quoted(name), origin,
                              name.size(), kLongestClusterName));
  }
  if (!std::all_of(name.begin(), name.end(), is_cluster_name_character) || name.starts_with('.') ||
      name.starts_with('-')) {
    checks.refuse(
        "spec.clusterName",
        fmt::format("{}{} is not a name that Slurm takes: use lower case letters, digits, "
                    "underscores and dashes",
                    quoted(name), origin));
  } else if (std::any_of(name.begin(), name.end(), is_upper)) {
    checks.warn(fmt::format("spec.clusterName: Slurm writes {} in lower case", quoted(name)));
  }
}

void check(Checks& checks, const Controller& controller) {
  const ControllerSpec& spec = controller.spec;
  check_cluster_name(checks, controller);
  checks.key_ref("spec.slurmKeyRef", spec.slurm_key_ref);
  checks.key_ref("spec.jwtKeyRef", spec.jwt_key_ref);
  checks.key_ref("spec.jwtHs256KeyRef", spec.jwt_hs256_key_ref);
  checks.key_ref("spec.jwksKeyRef", spec.jwks_key_ref);
  checks.deprecated_jwt_key(spec);
  checks.name("spec.accountingRef.name", spec.accounting_ref.name);
  checks.address("spec.externalConfig", spec.external_config);
  checks.text("spec.extraConf", spec.extra_conf);
  checks.name_refs("spec.configFileRefs", spec.config_file_refs);
  checks.name_refs("spec.prologScriptRefs", spec.prolog_script_refs);
  checks.name_refs("spec.epilogScriptRefs", spec.epilog_script_refs);
  checks.name_refs("spec.prologSlurmctldScriptRefs", spec.prolog_slurmctld_script_refs);
  checks.name_refs("spec.epilogSlurmctldScriptRefs", spec.epilog_slurmctld_script_refs);
  if (spec.persistence) {
    checks.name("spec.persistence.existingClaim", spec.persistence->existing_claim);
  }
  checks.service(spec.service);
}

void compare(Checks& checks, const Controller& before, const Controller& after) {
  checks.immutable("spec.clusterName", before.cluster_name(), after.cluster_name());
  if (before.spec.slurm_key_ref) {
    checks.immutable("spec.slurmKeyRef.name", before.spec.slurm_key_ref->name,
                     after.spec.slurm_key_ref.value_or(KeyRef{}).name);
  }
  checks.immutable_jwt_key(before.spec, after.spec);
  const Persistence was = before.spec.persistence.value_or(Persistence{});
  const Persistence is = after.spec.persistence.value_or(Persistence{});
  checks.immutable("spec.persistence.enabled", was.enabled ? "true" : "false",
                   is.enabled ? "true" : "false");
  if (is.enabled && was.enabled) {
    checks.immutable("spec.persistence.existingClaim", was.existing_claim, is.existing_claim);
  }
}

}  // namespace

Findings validate(const Controller& after, const Controller* before) {
  return validate_with(after, before, &check, &compare);
}

}  // namespace mainspring::api
