// control/revisions.cc
#include "control/revisions.h"

#include <algorithm>
#include <optional>
#include <tuple>
#include <utility>

#include "base/digest.h"
#include "control/owners.h"

namespace mainspring::control {

namespace {

// Two collisions in a row are one in four thousand million; this many are a bug.
constexpr int kMaxCollisions = 16;

bool has_data(const kube::ControllerRevision& revision, const json::Value& data) {
  const auto parsed = json::parse(revision.data);
  return parsed && *parsed == data;
}

json::Value new_revision(const RevisionOwner& owner, const json::Value& data,
                         const std::string& hash, std::int64_t number) {
  json::Value labels = owner.labels;
  labels[kRevisionHashLabel] = hash;
  json::Value owners = json::Value::array();
  owners.push_back(to_json(controller_ref(owner.resource, owner.meta)));
  const kube::Resource& kind = kube::ControllerRevision::kResource;
  return json::Value::object(
      {{"apiVersion", kind.api_version()},
       {"kind", kind.kind},
       {"metadata", json::Value::object({{"name", revision_name(owner.meta.name, hash)},
                                         {"namespace", owner.meta.ns},
                                         {"labels", std::move(labels)},
                                         {"ownerReferences", std::move(owners)}})},
       {"data", data},
       {"revision", number}});
}

// Makes it the newest.
Task<Result<kube::ControllerRevision>> renumber(kube::Api<kube::ControllerRevision> api,
                                                kube::ControllerRevision revision,
                                                std::int64_t number, kube::WriteOptions options) {
  if (revision.revision >= number) co_return revision;
  json::Value metadata = json::Value::object(
      {{"uid", revision.meta.uid}, {"resourceVersion", revision.meta.resource_version}});
  kube::Patch patch{kube::PatchKind::kMerge,
                    json::Value::object({{"metadata", std::move(metadata)}, {"revision", number}})};
  co_return co_await api.patch(revision.meta.name, std::move(patch), std::move(options));
}

}  // namespace

std::string revision_hash(const json::Value& data, std::int32_t collision_count) {
  std::string text = json::to_text(data, {.sort_keys = true});
  if (collision_count != 0) text += std::to_string(collision_count);
  return safe_encode_string(std::to_string(fnv1a_32(text)));
}

std::string revision_name(std::string_view owner_name, std::string_view hash) {
  // Kubernetes cuts here as well, which leaves room for whatever is named after a revision.
  constexpr std::size_t kMaxOwner = 223;
  std::string name(owner_name.substr(0, kMaxOwner));
  while (name.ends_with('.')) name.pop_back();
  return name + "-" + std::string(hash);
}

void sort_revisions(std::vector<Revision>& history) {
  const auto rank = [](const Revision& r) {
    return std::tie(r->revision, r->meta.created, r->meta.name);
  };
  std::sort(history.begin(), history.end(),
            [&](const Revision& a, const Revision& b) { return rank(a) < rank(b); });
}

std::int64_t next_revision(const std::vector<Revision>& history) {
  std::int64_t last = 0;
  for (const Revision& revision : history) last = std::max(last, revision->revision);
  return last + 1;
}

Revision find_equal_revision(const std::vector<Revision>& history, const json::Value& data) {
  Revision found;
  for (const Revision& revision : history) {
    const bool newer = !found || revision->revision > found->revision;
    if (newer && has_data(*revision, data)) found = revision;
  }
  return found;
}

std::vector<Revision> surplus_revisions(std::vector<Revision> history,
                                        const std::set<std::string, std::less<>>& names_in_use,
                                        std::size_t limit) {
  std::erase_if(history, [&](const Revision& r) { return names_in_use.contains(r->meta.name); });
  sort_revisions(history);
  history.resize(history.size() - std::min(limit, history.size()));
  return history;
}

Task<Result<CurrentRevision>> ensure_revision(kube::Client* client, RevisionOwner owner,
                                              std::vector<Revision> history, json::Value data,
                                              std::int32_t collision_count) {
  const kube::Api<kube::ControllerRevision> api(*client, owner.meta.ns);
  const kube::WriteOptions options{.field_manager = owner.field_manager};
  const std::int64_t next = next_revision(history);
  if (const Revision equal = find_equal_revision(history, data)) {
    const bool newest = equal->revision == next - 1;
    MS_CO_TRY(auto revision, co_await renumber(api, *equal, newest ? next - 1 : next, options));
    co_return CurrentRevision{std::move(revision), collision_count};
  }
  for (int collisions = 0; collisions < kMaxCollisions; ++collisions, ++collision_count) {
    const std::string hash = revision_hash(data, collision_count);
    auto created = co_await api.create(new_revision(owner, data, hash, next), options);
    if (created) co_return CurrentRevision{*std::move(created), collision_count};
    if (created.error().code() != Code::kAlreadyExists) {
      co_return fail(std::move(created).error());
    }
    MS_CO_TRY(auto existing, co_await api.get(revision_name(owner.meta.name, hash)));
    // Ours, and the cache has not shown it yet. One of a former owner of this name is not: the
    // garbage collector is about to take it.
    if (is_controlled_by(existing.meta, owner.meta.uid) && has_data(existing, data)) {
      MS_CO_TRY(auto revision, co_await renumber(api, std::move(existing), next, options));
      co_return CurrentRevision{std::move(revision), collision_count};
    }
  }
  co_return fail(Code::kInternal, "ControllerRevisions of " + owner.meta.name +
                                      ": every name tried is taken by other data");
}

Task<Result<void>> delete_revisions(kube::Client* client, std::vector<Revision> surplus) {
  for (const Revision& revision : surplus) {
    const kube::Api<kube::ControllerRevision> api(*client, revision->meta.ns);
    auto deleted = co_await api.remove(revision->meta.name, {.uid = revision->meta.uid});
    const bool gone = deleted || deleted.error().code() == Code::kNotFound ||
                      deleted.error().code() == Code::kConflict;  // Another one has the name.
    if (!gone) co_return fail(std::move(deleted).error());
  }
  co_return Result<void>();
}

}  // namespace mainspring::control
