// The kinds whose schemas are short: LoginSet, RestApi, Accounting, Token and Cluster.
#include "api/kind_schemas.h"
#include "api/schema_parts.h"

namespace mainspring::api::schema {
namespace {

Schema simple_status(std::string_view description) {
  return object(description,
                {{"conditions", conditions()}, {"observedGeneration", observed_generation()}});
}

Schema deployment_strategy() {
  return object(
      "How pods are replaced, as in an apps/v1 Deployment.",
      {
          {"type", string("RollingUpdate or Recreate.")},
          {"rollingUpdate",
           object("For the type RollingUpdate.",
                  {
                      {"maxSurge", int_or_string("How many pods there may be beyond replicas.")},
                      {"maxUnavailable", int_or_string("How many pods may be away at a time.")},
                  })},
      });
}

Schema storage() {
  return object("The database behind slurmdbd, MySQL or MariaDB.",
                {
                    {"host", string("Its host name or address.").required()},
                    {"port", integer("Its port.").by_default(3306)},
                    {"database", string("The name of the database.").by_default("slurm_acct_db")},
                    {"username", string("The database user.")},
                    {"passwordKeyRef", secret_key("the password of the database user").required()},
                });
}

}  // namespace

KindSchema loginset_schema() {
  return {
      .spec =
          object("The login pods that are wanted.",
                 {
                     {"controllerRef",
                      name_ref("The Controller whose cluster users log into; it cannot change.")
                          .required()},
                     {"replicas", int32("How many pods there are.").by_default(1)},
                     {"login", container("login")},
                     {"initconf", container("initconf")},
                     {"template", pod_template("login")},
                     {"rootSshAuthorizedKeys", string("Public keys with which root may log in.")},
                     {"extraSshdConfig", string("Lines that are added to sshd_config.")},
                     {"sssdConfRef", secret_key("sssd.conf, by which users are known").required()},
                     {"strategy", deployment_strategy()},
                     {"service", service("login")},
                 }),
      .status = object(
          "The login pods as they are.",
          {
              {"replicas", int32("How many pods there are.")},
              {"selector", string("The label selector of the pods, for autoscalers.").required()},
              {"conditions", conditions()},
              {"observedGeneration", observed_generation()},
          })};
}

KindSchema restapi_schema() {
  return {.spec = object(
              "The REST servers that are wanted.",
              {
                  {"controllerRef", name_ref("The Controller whose cluster is served.").required()},
                  {"replicas", int32("How many pods there are.").by_default(1)},
                  {"slurmrestd", container("slurmrestd")},
                  {"template", pod_template("slurmrestd")},
                  {"service", service("slurmrestd")},
              }),
          .status = simple_status("The REST servers as they are.")};
}

KindSchema accounting_schema() {
  return {
      .spec =
          object("The accounting service that is wanted.",
                 {
                     {"slurmKeyRef", slurm_key()},
                     {"jwtKeyRef", jwt_key()},
                     {"jwtHs256KeyRef", jwt_hs256_key()},
                     {"jwksKeyRef", jwks_key()},
                     {"external", boolean("Whether slurmdbd runs outside this Kubernetes cluster.")
                                      .by_default(false)},
                     {"externalConfig", external_address("slurmdbd")},
                     {"slurmdbd", container("slurmdbd")},
                     {"template", pod_template("slurmdbd")},
                     {"storageConfig", storage()},
                     {"extraConf", string("Lines that are added to slurmdbd.conf.")},
                     {"service", service("slurmdbd")},
                 })
              .rule(kNeedsSlurmKey, kSlurmKeyMissing)
              .rule(kNeedsJwtKey, kJwtKeyMissing)
              .rule(kNeedsAddress, kAddressMissing),
      .status = simple_status("The accounting service as it is.")};
}

KindSchema token_schema() {
  return {
      .spec =
          object("The token that is wanted.",
                 {
                     {"jwtKeyRef", jwt_key()},
                     {"jwtHs256KeyRef", jwt_hs256_key()},
                     {"username", string("The Slurm user that the token stands for.").required()},
                     {"lifetime",
                      string("How long a token is good for, such as 1h; 15m where absent.")},
                     {"refresh",
                      boolean("Whether the token is replaced before it expires.").by_default(true)},
                     {"secretRef",
                      secret_key("the token; NAME-jwt-USERNAME with key SLURM_JWT where absent")},
                 })
              .rule("has(self.jwtKeyRef) || has(self.jwtHs256KeyRef)",
                    "set jwtKeyRef to the Secret that holds the key for tokens"),
      .status = object("The token as it is.",
                       {
                           {"issuedAt", date_time("When the present token was made.")},
                           {"conditions", conditions()},
                           {"observedGeneration", observed_generation()},
                       })};
}

KindSchema cluster_schema() {
  return {
      .spec =
          object(
              "Where a Slurm is, wherever it runs.",
              {
                  {"server",
                   string("The URL of its slurmrestd, such as http://slurm.example.com:6820.")
                       .required()},
                  {"token",
                   object(
                       "By what the operator is known to it.",
                       {{"secretRef",
                         string("The Secret in this namespace whose key auth-token holds a token.")
                             .required()}})
                       .required()},
              })
              .required(),
      .status = object(
          "The Slurm as it is.",
          {
              {"isReady", boolean("Whether it answers and takes the token.").by_default(false)},
              {"conditions", conditions()},
              {"observedGeneration", observed_generation()},
              {"slurmVersion", string("The version of Slurm, such as 26.05.1.")},
              {"apiVersion", string("The version of its REST API that is used.")},
              {"nodes", int32("How many nodes it has.")},
              {"jobs", int32("How many jobs it knows.")},
              {"freshness", string("How old the picture of it is.")},
          })};
}

}  // namespace mainspring::api::schema
