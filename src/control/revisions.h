// control/revisions.h
//
// The history of a template as ControllerRevisions: which one an object was made from, and what to
// go back to. The first part is pure; the second acts, on the control loop, inside a reconcile.
//
// A revision is named after its data, OWNER-HASH, so that a controller that has lost its memory, or
// whose cache lags, finds the one it made instead of making another. Where two data have the same
// hash, the collision count in the owner's status tells them apart. Going back to old data does not
// make a new revision: the old one gets the next number.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"
#include "kube/api.h"
#include "kube/controller_revision.h"

namespace mainspring::control {

using net::Task;

using Revision = std::shared_ptr<const kube::ControllerRevision>;

inline constexpr std::string_view kRevisionHashLabel = "controller.kubernetes.io/hash";

std::string revision_hash(const json::Value& data, std::int32_t collision_count);
// "OWNER-HASH", the owner cut so that the name fits.
std::string revision_name(std::string_view owner_name, std::string_view hash);

// Oldest first: by number, then by age, then by name.
void sort_revisions(std::vector<Revision>& history);
std::int64_t next_revision(const std::vector<Revision>& history);
// The newest whose data is the same; null if none is.
Revision find_equal_revision(const std::vector<Revision>& history, const json::Value& data);

// What to delete so that at most `limit` are left beside those that are in use, oldest first.
std::vector<Revision> surplus_revisions(std::vector<Revision> history,
                                        const std::set<std::string, std::less<>>& names_in_use,
                                        std::size_t limit);

struct RevisionOwner {
  kube::Resource resource;
  kube::Meta meta;
  json::Value labels;  // An object: what the owner's selector finds its revisions by.
  std::string field_manager = "mainspring";
};

struct CurrentRevision {
  kube::ControllerRevision revision;
  std::int32_t collision_count = 0;  // To be kept in the owner's status.
};

// The revision for `data`, with the highest number of all: found, renumbered or created. `history`
// is what the owner controls (control/owners.h claims it). `client` must outlive the task.
Task<Result<CurrentRevision>> ensure_revision(kube::Client* client, RevisionOwner owner,
                                              std::vector<Revision> history, json::Value data,
                                              std::int32_t collision_count);

// Deletes `surplus`, each only if it is still the object that was decided about.
Task<Result<void>> delete_revisions(kube::Client* client, std::vector<Revision> surplus);

}  // namespace mainspring::control
