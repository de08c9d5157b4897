#include "api/crds.h"

#include <initializer_list>
#include <string>
#include <string_view>
#include <utility>

#include "api/accounting.h"
#include "api/cluster.h"
#include "api/controller.h"
#include "api/kind_schemas.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/token.h"
#include "base/text.h"

namespace mainspring::api {
namespace {

using json::Value;
using schema::KindSchema;
using schema::Schema;

struct Column {
  std::string_view name;
  std::string_view path;
  std::string_view type = "integer";
  bool wide = false;  // Shown by `kubectl get -o wide` only.
};
constexpr Column kAge{"AGE", ".metadata.creationTimestamp", "date"};

struct Definition {
  const kube::Resource& resource;
  std::string_view what;
  std::initializer_list<std::string_view> short_names;
  std::initializer_list<Column> columns;
  bool scales = false;
  KindSchema schema;
};

Value strings(std::initializer_list<std::string_view> words) {
  Value out = Value::array();
  for (const std::string_view word : words) out.push_back(word);
  return out;
}

Value names(const Definition& definition) {
  const kube::Resource& resource = definition.resource;
  std::string singular;
  for (const char c : resource.kind) singular += ascii_lower(c);
  Value out = Value::object({{"kind", resource.kind},
                             {"listKind", resource.kind + "List"},
                             {"plural", resource.plural},
                             {"singular", singular}});
  if (definition.short_names.size() > 0) out.set("shortNames", strings(definition.short_names));
  return out;
}

Value columns(const Definition& definition) {
  Value out = Value::array();
  for (const Column& column : definition.columns) {
    Value& added = out.push_back(
        Value::object({{"name", column.name}, {"type", column.type}, {"jsonPath", column.path}}));
    if (column.wide) added.set("priority", 1);
  }
  return out;
}

Value subresources(const Definition& definition) {
  Value out = Value::object({{"status", Value::object()}});
  if (definition.scales) {
    out.set("scale", Value::object({{"specReplicasPath", ".spec.replicas"},
                                    {"statusReplicasPath", ".status.replicas"},
                                    {"labelSelectorPath", ".status.selector"}}));
  }
  return out;
}

Schema root(const Definition& definition) {
  return schema::object(
      definition.what,
      {
          {"apiVersion", schema::string("The group and version of this object's kind.")},
          {"kind", schema::string("The kind of this object.")},
          {"metadata", Schema("object", "")},  // The API server describes it, and allows no other.
          {"spec", definition.schema.spec},
          {"status", definition.schema.status},
      });
}

Value crd(const Definition& definition) {
  const kube::Resource& resource = definition.resource;
  Value version =
      Value::object({{"name", resource.version},
                     {"served", true},
                     {"storage", true},
                     {"additionalPrinterColumns", columns(definition)},
                     {"schema", Value::object({{"openAPIV3Schema", root(definition).value()}})},
                     {"subresources", subresources(definition)}});
  return Value::object(
      {{"apiVersion", "apiextensions.k8s.io/v1"},
       {"kind", "CustomResourceDefinition"},
       {"metadata",
        Value::object({{"name", resource.to_string()},
                       // With the definition go all objects of the kind, and with those the pods
                       // and the jobs: no uninstall of a chart may do that.
                       {"annotations", Value::object({{"helm.sh/resource-policy", "keep"}})}})},
       {"spec", Value::object({{"group", resource.group},
                               {"names", names(definition)},
                               {"scope", "Namespaced"},
                               {"versions", Value::array({std::move(version)})}})}});
}

}  // namespace

std::vector<Value> crds() {
  return {
      crd({.resource = Accounting::kResource,
           .what = "An Accounting is slurmdbd and the database behind it.",
           .short_names = {"slurmdbd"},
           .columns = {kAge},
           .schema = schema::accounting_schema()}),
      crd({.resource = Cluster::kResource,
           .what = "A Cluster is a Slurm that is known by its REST address and a token.",
           .short_names = {},
           .columns = {{"READY", ".status.isReady", "boolean"}, kAge},
           .schema = schema::cluster_schema()}),
      crd({.resource = Controller::kResource,
           .what = "A Controller is slurmctld, and through it a Slurm cluster.",
           .short_names = {"slurmctld"},
           .columns = {kAge},
           .schema = schema::controller_schema()}),
      crd({.resource = LoginSet::kResource,
           .what = "A LoginSet is a set of pods that users log into.",
           .short_names = {"loginsets", "lss", "sackd"},
           .columns = {{"REPLICAS", ".status.replicas"}, kAge},
           .scales = true,
           .schema = schema::loginset_schema()}),
      crd({.resource = NodeSet::kResource,
           .what = "A NodeSet is a set of Slurm workers, each a slurmd in a pod.",
           .short_names = {"nodesets", "nss", "slurmd"},
           .columns = {{"DESIRED", ".status.desired"},
                       {"REPLICAS", ".status.replicas"},
                       {"UPDATED", ".status.updatedReplicas"},
                       {"READY", ".status.readyReplicas"},
                       {"IDLE", ".status.slurmIdle", "integer", true},
                       {"ALLOCATED", ".status.slurmAllocated", "integer", true},
                       {"DOWN", ".status.slurmDown", "integer", true},
                       {"DRAIN", ".status.slurmDrain", "integer", true},
                       kAge},
           .scales = true,
           .schema = schema::nodeset_schema()}),
      crd({.resource = RestApi::kResource,
           .what = "A RestApi is slurmrestd in front of a Slurm cluster.",
           .short_names = {"slurmrestd"},
           .columns = {kAge},
           .schema = schema::restapi_schema()}),
      crd({.resource = Token::kResource,
           .what = "A Token is a JWT for one Slurm user, kept fresh in a Secret.",
           .short_names = {"tokens", "jwt"},
           .columns = {{"USER", ".spec.username", "string"},
                       {"IAT", ".status.issuedAt", "date"},
                       kAge},
           .schema = schema::token_schema()}),
  };
}

std::string crd_text(const Value& crd) { return json::to_text(crd, {.indent = 2}) + "\n"; }

}  // namespace mainspring::api
