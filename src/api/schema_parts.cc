#include "api/schema_parts.h"

#include <fmt/format.h>

#include <string>

namespace mainspring::api::schema {
namespace {

Schema key_of(std::string_view kind, std::string_view what) {
  return object(fmt::format("The key of a {} in this namespace that holds {}.", kind, what),
                {
                    {"name", string(fmt::format("The name of the {}.", kind)).by_default("")},
                    {"key", string(fmt::format("The key in the {}.", kind)).required()},
                    {"optional",
                     boolean(fmt::format("Whether the {} or its key may be missing.", kind))},
                })
      .atomic();
}

Schema metadata(std::string_view of) {
  return object(fmt::format("Metadata that is added to the {}.", of),
                {{"labels", labels()}, {"annotations", annotations()}});
}

}  // namespace

Schema secret_key(std::string_view what) { return key_of("Secret", what); }
Schema config_map_key(std::string_view what) { return key_of("ConfigMap", what); }

Schema name_ref(std::string_view description) {
  return object(description,
                {{"name", string("The name of an object in this namespace.").by_default("")}})
      .atomic();
}

Schema name_refs(std::string_view description) {
  return list(description, name_ref("One ConfigMap.")).nullable();
}

Schema labels() { return map("Labels to add, by key.", string("")).nullable(); }
Schema annotations() { return map("Annotations to add, by key.", string("")).nullable(); }

Schema container(std::string_view daemon) {
  return kept(fmt::format(
      "Fields of a core/v1 Container that are merged over those of the container {}.", daemon));
}

Schema pod_template(std::string_view daemon) {
  return object(
      fmt::format("What is merged over the pods of {}.", daemon),
      {
          {"metadata", metadata("pods")},
          {"spec", kept("Fields of a core/v1 PodSpec that are merged over those of the pods.")},
      });
}

Schema service(std::string_view daemon) {
  return object(
      fmt::format("The Service in front of {}.", daemon),
      {
          {"metadata", metadata("Service")},
          {"spec", kept("Fields of a core/v1 ServiceSpec that the Service starts from.")},
          {"port", integer("The port of the Service, by default the daemon's own.")},
          {"nodePort", integer("The port on every node, for Services of the types that have one.")},
      });
}

Schema external_address(std::string_view daemon) {
  return object(
      fmt::format("Where a {} that runs outside this Kubernetes cluster is reached.", daemon),
      {
          {"host", string("Its host name or address.").required()},
          {"port", integer("Its port.").required()},
      });
}

Schema slurm_key() { return secret_key("slurm.key, which all daemons of the cluster share"); }
Schema jwt_key() { return secret_key("the key that tokens are signed with"); }
Schema jwt_hs256_key() {
  return secret_key("the key that tokens are signed with; deprecated, use jwtKeyRef");
}
Schema jwks_key() {
  return config_map_key("public keys (JWKS) of others whose tokens are accepted");
}

Schema conditions() {
  return list(
             "What is known about the state of this object, one entry for each type.",
             object(
                 "One condition.",
                 {
                     {"type",
                      string("What the condition is about, such as Ready.")
                          .required()
                          .matching(
                              R"(^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$)")
                          .length(0, 316)},
                     {"status",
                      string("Whether it holds.").required().one_of({"True", "False", "Unknown"})},
                     {"reason", string("Why, in one word for programs.")
                                    .required()
                                    .matching(R"(^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$)")
                                    .length(1, 1024)},
                     {"message",
                      string("Why, in a sentence for people.").required().length(0, 32768)},
                     {"lastTransitionTime", date_time("When the status last changed.").required()},
                     {"observedGeneration",
                      int64("The metadata.generation that the condition was found for.")
                          .at_least(0)},
                 }))
      .keyed_by("type");
}

Schema observed_generation() {
  return int64("The metadata.generation that this status describes.");
}

}  // namespace mainspring::api::schema
