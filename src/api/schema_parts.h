// api/schema_parts.h
//
// The schemas that several of our kinds have in common; see common.h for the structs. Pure.
#pragma once

#include "api/schema.h"

namespace mainspring::api::schema {

// `what` completes the sentence: "The key of a Secret that holds ...".
Schema secret_key(std::string_view what);
Schema config_map_key(std::string_view what);
Schema name_ref(std::string_view description);
Schema name_refs(std::string_view description);
Schema labels();
Schema annotations();
// `daemon` is the container's name: "slurmctld".
Schema container(std::string_view daemon);
Schema pod_template(std::string_view daemon);
Schema service(std::string_view daemon);
Schema external_address(std::string_view daemon);
// Both spellings of jwtKeyRef are one field.
Schema jwt_key();
Schema jwt_hs256_key();
Schema jwks_key();
Schema slurm_key();
Schema conditions();
Schema observed_generation();

// The rules of the kinds that need keys unless their daemon runs elsewhere.
inline constexpr std::string_view kNeedsSlurmKey = "!self.external ? has(self.slurmKeyRef) : true";
inline constexpr std::string_view kNeedsJwtKey =
    "!self.external ? has(self.jwtKeyRef) || has(self.jwtHs256KeyRef) : true";
inline constexpr std::string_view kNeedsAddress = "self.external ? has(self.externalConfig) : true";
inline constexpr std::string_view kSlurmKeyMissing =
    "set slurmKeyRef to the Secret that holds slurm.key, or set external to true";
inline constexpr std::string_view kJwtKeyMissing =
    "set jwtKeyRef to the Secret that holds the key for tokens, or set external to true";
inline constexpr std::string_view kAddressMissing =
    "set externalConfig.host and externalConfig.port, or set external to false";

}  // namespace mainspring::api::schema
