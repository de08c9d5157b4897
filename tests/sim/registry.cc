#include "sim/registry.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "base/rfc3339.h"
#include "base/text.h"
#include "sim/defaults.h"
#include "sim/meta.h"
#include "sim/ownership.h"
#include "sim/refusals.h"
#include "sim/schema.h"

namespace mainspring::sim {
namespace {

using json::Value;
using Causes = std::vector<kube::StatusCause>;

constexpr std::string_view kNameRule =
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";

// What clients cannot change once an object exists.
constexpr const char* kServerMembers[] = {
    "uid",      "creationTimestamp", "deletionTimestamp",         "generation", "name", "namespace",
    "selfLink", "generateName",      "deletionGracePeriodSeconds"};

void copy_member(const Value& from, Value& to, std::string_view name) {
  const Value* found = from.find(name);
  if (found == nullptr) {
    to.erase(name);
  } else {
    to.set(name, *found);
  }
}

bool same_member(const Value& a, const Value& b, std::string_view name) {
  const Value* left = a.find(name);
  const Value* right = b.find(name);
  return left == nullptr || right == nullptr ? left == right : *left == *right;
}

// Whether what the generation counts has changed: of built-in kinds the spec (of those without one
// everything), of custom kinds all but metadata and, where it has its own subresource, status.
bool wants_changed(const Kind& kind, const Value& before, const Value& after) {
  if (!kind.custom && (before.find("spec") != nullptr || after.find("spec") != nullptr)) {
    return !same_member(before, after, "spec");
  }
  Value left = before;
  Value right = after;
  for (Value* side : {&left, &right}) {
    side->erase("metadata");
    side->erase("apiVersion");
    if (kind.has_status) side->erase("status");
  }
  return left != right;
}

void shape_custom(const Kind& kind, Value& object) {
  if (kind.schema == nullptr) return;
  kind.schema->prune(object);
  kind.schema->set_defaults(object);
}

// The first path of an applied object that its schema does not have, "" where it has all.
std::string undeclared(const Value& given, const Value& pruned, const std::string& path) {
  if (given.is_array() && given.size() == pruned.size()) {
    for (std::size_t i = 0; i < given.size(); ++i) {
      std::string found = undeclared(given.at(i), pruned.at(i), fmt::format("{}[{}]", path, i));
      if (!found.empty()) return found;
    }
  }
  for (const auto [name, member] : given.members()) {
    const std::string here = path + "." + std::string(name);
    const Value* kept = pruned.find(name);
    if (kept == nullptr) return here;
    std::string found = undeclared(member, *kept, here);
    if (!found.empty()) return found;
  }
  return "";
}

// What the schema says, and that the scale subresource could read its number.
void validate_custom(const Kind& kind, const Value& object, Causes& causes) {
  if (kind.schema == nullptr) return;
  for (auto& cause : kind.schema->validate(object)) causes.push_back(std::move(cause));
  const Value* replicas =
      kind.replicas_path.empty() ? nullptr : object.at_pointer(kind.replicas_path);
  if (replicas == nullptr || !replicas->is_string()) return;
  std::string path = kind.replicas_path;
  std::replace(path.begin(), path.end(), '/', '.');
  causes.push_back(wrong(path, "0",
                         fmt::format("{} accessor error: {} is of the type string, expected int64",
                                     path, replicas->as_string().value_or(""))));
}

// The server fills these in again for those who left them out.
void keep_filled_in(const Kind& kind, const Value& live, Value& object) {
  std::vector<const char*> members;
  if (kind.collection() == "pods") {
    members = {"priority", "preemptionPolicy", "tolerations", "serviceAccount"};
  } else if (kind.collection() == "services") {
    members = {"clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"};
  }
  for (const char* member : members) {
    if (object["spec"].find(member) == nullptr) {
      copy_member(*live.find("spec"), object["spec"], member);
    }
  }
}

// Where etcd has the objects of a kind.
std::string registry_folder(const Kind& kind) {
  if (kind.custom) return kind.resource.group + "/" + kind.resource.plural;
  return kind.collection() == "services" ? "services/specs" : kind.resource.plural;
}

void validate_update_meta(const Value& before, const Value& after, Causes& causes) {
  const std::string_view uid = uid_of(after);
  if (!uid.empty() && uid != uid_of(before)) {
    causes.push_back(wrong("metadata.uid", to_text(Value(uid)), "field is immutable"));
  }
  const Value* finalizers = after.at_pointer("/metadata/finalizers");
  if (!is_being_deleted(before) || finalizers == nullptr) return;
  std::string added;
  for (const Value& finalizer : *finalizers) {
    const std::string_view name = finalizer.as_string().value_or("");
    if (has_finalizer(before, name)) continue;
    added += (added.empty() ? "\"" : ", \"") + std::string(name) + "\"";
  }
  if (added.empty()) return;
  causes.push_back(not_permitted(
      "metadata.finalizers",
      "no new finalizers can be added if the object is being deleted, found new finalizers "
      "[]string{" +
          added + "}"));
}

}  // namespace

std::string Registry::now_text() const { return format_rfc3339(clock_.wall_now()); }

std::string Registry::make_uid() {
  const std::uint64_t high = random_.next();
  const std::uint64_t low = random_.next();
  return fmt::format("{:08x}-{:04x}-4{:03x}-{:04x}-{:012x}", high >> 32, (high >> 16) & 0xFFFF,
                     high & 0xFFF, 0x8000 | (low >> 50), low & 0xFFFF'FFFF'FFFF);
}

Result<Object> Registry::get(const Kind& kind, std::string_view ns, std::string_view name) const {
  Object found = storage_.get(kind.collection(), storage_key(ns, name));
  if (found == nullptr) return fail(not_found(kind, name));
  return found;
}

Result<void> Registry::check_namespace(const Kind& kind, std::string_view ns,
                                       std::string_view name) const {
  if (!kind.resource.namespaced) return {};
  const Kind& namespaces = *kinds_.find("", "v1", "namespaces");
  MS_TRY(const Object found, get(namespaces, "", ns));
  if (!is_being_deleted(*found)) return {};
  return fail(forbidden(
      kind, name,
      fmt::format("unable to create new content in namespace {} because it is being terminated",
                  ns),
      {{"NamespaceTerminating", fmt::format("namespace {} is being terminated", ns),
        "metadata.namespace"}}));
}

void Registry::name_object(Value& meta) {
  const Value* prefix = meta.find("generateName");
  if (prefix == nullptr || (meta.find("name") != nullptr && meta.find("name")->as_string() != "")) {
    return;
  }
  constexpr std::string_view kLetters = "bcdfghjklmnpqrstvwxz2456789";
  std::string name(prefix->as_string().value_or("").substr(0, 58));
  for (int i = 0; i < 5; ++i) name += kLetters[random_.below(kLetters.size())];
  meta["name"] = name;
}

Result<Written> Registry::create(const Kind& kind, std::string_view ns, Value object,
                                 const WriteOptions& options) {
  if (!version_of(object).empty()) {
    return fail(refuse(500, "", "resourceVersion should not be set on objects to be created"));
  }
  Value& meta = object["metadata"];
  if (kind.resource.namespaced) {
    if (!namespace_of(object).empty() && namespace_of(object) != ns) {
      return fail(bad_request(
          "the namespace of the provided object does not match the namespace sent on the request"));
    }
    meta["namespace"] = ns;
  }
  name_object(meta);
  meta.erase("managedFields");
  for (const char* name : {"uid", "creationTimestamp", "deletionTimestamp", "generation",
                           "deletionGracePeriodSeconds", "selfLink"}) {
    meta.erase(name);
  }
  shape_custom(kind, object);
  set_defaults(kind, object);
  record_update(nullptr, object, {options.manager, "", now_text()}, kind);
  return store_new(kind, std::move(object), options);
}

Result<Written> Registry::store_new(const Kind& kind, Value object, const WriteOptions& options) {
  const std::string name(name_of(object));
  MS_CHECK(check_namespace(kind, namespace_of(object), name));
  Value& meta = object["metadata"];
  meta["uid"] = make_uid();
  meta["creationTimestamp"] = now_text();
  if (kind.counts_generations) meta["generation"] = 1;
  prepare_new(kind, object);
  if (kind.collection() == "services") {
    ++services_made_;
    give_addresses(object,
                   fmt::format("10.96.{}.{}", services_made_ >> 8 & 0xFF, services_made_ & 0xFF));
  }

  Causes causes;
  if (name.empty()) {
    causes.push_back(required("metadata.name", "name or generateName is required"));
  } else if (!is_dns1123_subdomain(name) && kind.resource.group != "rbac.authorization.k8s.io") {
    causes.push_back(wrong("metadata.name", to_text(Value(name)), kNameRule));
  }
  validate_custom(kind, object, causes);
  if (!causes.empty()) return fail(invalid(kind, name, std::move(causes)));
  const std::string key = key_of(object);
  if (storage_.get(kind.collection(), key) != nullptr) return fail(already_exists(kind, name));
  if (options.dry_run) return Written{std::make_shared<const Value>(std::move(object)), true};
  return Written{storage_.put(kind.collection(), key, std::move(object)), true};
}

Result<Written> Registry::update(const Kind& kind, std::string_view ns, std::string_view name,
                                 Value object, const WriteOptions& options) {
  if (name_of(object) != name) {
    return fail(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    name_of(object), name)));
  }
  if (kind.resource.namespaced) {
    if (!namespace_of(object).empty() && namespace_of(object) != ns) {
      return fail(bad_request(
          "the namespace of the provided object does not match the namespace sent on the request"));
    }
    object["metadata"]["namespace"] = ns;
  }
  const auto live = get(kind, ns, name);
  const std::string_view live_uid = live ? uid_of(**live) : std::string_view();
  if (!live && !kind.creates_on_update) return fail(live.error());
  if (!uid_of(object).empty() && uid_of(object) != live_uid) {
    return fail(conflict(
        kind, name,
        fmt::format("StorageError: invalid object, Code: 4, Key: {}/{}/{}, ResourceVersion: 0, "
                    "AdditionalErrorMsg: Precondition failed: UID in precondition: {}, UID in "
                    "object meta: {}",
                    // A dry run does not get as far as etcd.
                    options.dry_run ? "" : "/registry", registry_folder(kind),
                    storage_key(ns, name), uid_of(object), live_uid)));
  }
  if (!live) {
    if (!options.subresource.empty()) return fail(live.error());
    const std::string version(version_of(object));
    object["metadata"].erase("resourceVersion");
    MS_TRY(Written made, create(kind, ns, std::move(object), options));
    if (!options.dry_run || version.empty()) return made;
    // Nothing was stored, so nothing gave it another.
    Value echoed = *made.object;
    echoed["metadata"]["resourceVersion"] = version;
    return Written{std::make_shared<const Value>(std::move(echoed)), true};
  }
  if (version_of(object).empty() && !kind.unconditional_update) {
    return fail(
        invalid({std::string(name), kind.resource.group, kind.resource.plural},
                {wrong("metadata.resourceVersion", "0", "must be specified for an update")}));
  }
  return write_over(kind, *live, std::move(object), options);
}

Result<Written> Registry::patch(const Kind& kind, std::string_view ns, std::string_view name,
                                const Edit& edit, const WriteOptions& options) {
  MS_TRY(const Object live, get(kind, ns, name));
  MS_TRY(Value object, edit(*live));
  if (name_of(object) != name) {
    return fail(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    name_of(object), name)));
  }
  return write_over(kind, live, std::move(object), options);
}

Result<Written> Registry::write_over(const Kind& kind, const Object& live, Value object,
                                     const WriteOptions& options) {
  const std::string_view version = version_of(object);
  if (!version.empty() && version != version_of(*live)) {
    return fail(modified(kind, name_of(*live)));
  }
  shape_custom(kind, object);
  set_defaults(kind, object);
  if (options.subresource == "status" && kind.custom) {
    Value kept = *live;
    copy_member(object, kept, "status");
    object = std::move(kept);
  }
  const std::string time = options.subresource == "scale" ? "" : now_text();
  record_update(live.get(), object, {options.manager, options.subresource, time}, kind);
  return store_changed(kind, live, std::move(object), options);
}

Result<Written> Registry::store_changed(const Kind& kind, const Object& live, Value object,
                                        const WriteOptions& options) {
  const std::string name(name_of(*live));
  Causes causes;
  validate_update_meta(*live, object, causes);
  Value& meta = object["metadata"];
  const Value& live_meta = *live->find("metadata");
  for (const char* member : kServerMembers) copy_member(live_meta, meta, member);
  if (options.subresource == "status") {
    copy_member(*live, object, "spec");
    copy_member(live_meta, meta, "ownerReferences");
  } else if (kind.has_status) {
    copy_member(*live, object, "status");
  }
  if (kind.collection() == "services") validate_families(*live, object, causes);
  keep_filled_in(kind, *live, object);
  object["apiVersion"] = Value(*live->find("apiVersion"));
  object["kind"] = kind.resource.kind;
  if (kind.counts_generations && wants_changed(kind, *live, object)) {
    meta["generation"] = meta["generation"].as_int().value_or(0) + 1;
  }
  validate_custom(kind, object, causes);
  for (auto& cause : validate_builtin(kind, live.get(), object)) causes.push_back(std::move(cause));
  if (!causes.empty()) return fail(invalid(kind, name, std::move(causes)));

  meta["resourceVersion"] = version_of(*live);
  if (object == *live) return Written{live};
  auto made = std::make_shared<const Value>(object);
  if (options.dry_run) return Written{std::move(made)};
  const Value* grace = made->at_pointer("/metadata/deletionGracePeriodSeconds");
  const bool done = is_being_deleted(*made) && !has_finalizers(*made) &&
                    (grace == nullptr || grace->as_int() == 0) &&
                    made->at_pointer("/spec/finalizers") == nullptr;
  if (done) {
    storage_.erase(kind.collection(), key_of(*made), std::move(object));
    return Written{std::move(made)};
  }
  return Written{storage_.put(kind.collection(), key_of(*made), std::move(object))};
}

Result<Written> Registry::apply(const Kind& kind, std::string_view ns, std::string_view name,
                                Value config, bool force, const WriteOptions& options) {
  if (name_of(config).empty()) {
    return fail(bad_request(fmt::format(
        "the name of the object ({} based on URL) was undeterminable: name must be provided",
        name)));
  }
  if (name_of(config) != name) {
    return fail(bad_request(
        fmt::format("the name of the object ({}) does not match the name on the URL ({})",
                    name_of(config), name)));
  }
  if (const Value* managed = config.at_pointer("/metadata/managedFields"); managed != nullptr) {
    return fail(bad_request("metadata.managedFields must be nil"));
  }
  const std::string given_key = fmt::format("{}/{}", namespace_of(config), name);
  if (kind.resource.namespaced) config["metadata"]["namespace"] = ns;
  const auto live = get(kind, ns, name);
  if (!live && !options.subresource.empty()) return fail(live.error());
  if (live && !version_of(config).empty() && version_of(config) != version_of(**live)) {
    return fail(modified(kind, name));
  }
  if (kind.schema != nullptr) {
    const Value given = config;
    kind.schema->prune(config);
    if (const std::string path = undeclared(given, config, ""); !path.empty()) {
      return fail(
          refuse(500, "",
                 fmt::format("failed to create typed patch object ({}; {}, Kind={}): {}: field not "
                             "declared in schema",
                             given_key, kind.resource.api_version(), kind.resource.kind, path)));
    }
  }
  MS_TRY(Value merged,
         apply_config(live ? live->get() : nullptr, config,
                      {options.manager, options.subresource, now_text()}, force, kind));
  shape_custom(kind, merged);
  set_defaults(kind, merged);
  if (live) return store_changed(kind, *live, std::move(merged), options);
  merged["metadata"].erase("uid");
  return store_new(kind, std::move(merged), options);
}

}  // namespace mainspring::sim
