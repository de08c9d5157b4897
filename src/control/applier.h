// control/applier.h
//
// Applier: makes objects as they should be by server-side apply, and makes no call where nothing
// would change. One per field manager, owned by main; lives on the control loop.
//
// When is there nothing to do? The reconciler passes what it wants and what its cache shows. What
// the cache holds is a projection, so it cannot be compared with the desired object. Instead the
// Applier remembers, for each object that it has seen to be right, a digest of what was desired,
// and the object's UID, version, generation and metadata at that time. Then:
//
//   1. The cache has no such object: apply. (Twice, if the cache lags. The second changes nothing.)
//   2. Remembered, the same is desired, and the cache shows the version remembered or an older one
//      (it has not caught up with our own write): nothing to do, no call.
//   3. The same with a newer version, but the generation and the metadata are as remembered: only
//      the status was written. Nothing to do, no call. Not for applies to a subresource, for kinds
//      without generations, nor for those whose fields are not in a spec.
//   4. The same with any other newer version: somebody wrote, perhaps to our fields. Also: nothing
//      is remembered, or it was of another UID (after a restart, or when memory was short). The
//      live object is read and compared (control/owned_fields.h): one GET if all is well, and an
//      apply that repairs it if not.
//   5. Something else is desired than what is remembered: apply.
//
// So a process at rest makes no call, a restarted one reads each object once and writes nothing,
// and an edit by hand to a field of ours is undone as soon as a watch tells of it. A field that is
// no longer in `desired` is removed by the server, since our manager held it and gives it up; a
// field that we never set stays whoever's it is.
//
// Versions are compared as numbers, as Kubernetes defines them; one that is no number counts as
// newer. `desired` must be the same for the same state: no time of day, no random names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/digest.h"
#include "base/metrics.h"
#include "control/lru_map.h"
#include "kube/api.h"

namespace mainspring::control {

using net::Task;

struct ApplyRequest {
  kube::Resource resource;
  json::Value desired;  // With metadata.name, and metadata.namespace where the kind has one.
  // What the cache shows of this object; unset where it shows none. Without a cache: what the last
  // apply returned.
  std::optional<kube::Meta> seen = {};
  std::string subresource = {};  // "status", or empty.
};

struct Applied {
  // False where no call was made, or the call changed nothing.
  bool changed = false;
  kube::Meta meta;  // As far as known: of the answer, or of the cache.
};

class Applier {
 public:
  struct Options {
    std::string field_manager = "mainspring";
    // Take fields that others hold. Without, such a conflict is kConflict and names them.
    bool force = true;
    // Objects to remember, at about 300 bytes each.
    std::size_t memory = 50'000;
    Metrics* metrics = nullptr;
  };
  // `client` must outlive it, and it its calls.
  Applier(kube::Client& client, Options options);

  Task<Result<Applied>> apply(ApplyRequest request);

  // Up to `limit` at a time; the results are in the order of the requests, and a failure of one
  // does not stop the others.
  Task<Result<std::vector<Result<Applied>>>> apply_all(std::vector<ApplyRequest> requests,
                                                       std::size_t limit = 16);

  // The object is gone for good.
  void forget(const kube::Resource& resource, KeyView key);

 private:
  // How an object was when it was as desired.
  struct Known {
    Sha256Digest desired;
    Sha256Digest metadata;
    std::string uid;
    std::string version;
    std::int64_t generation = 0;
  };
  enum class Verdict { kNothingToDo, kLook, kWrite };
  struct Target;

  static Result<Target> target_of(ApplyRequest& request);
  Verdict judge(const Target& target, const ApplyRequest& request);
  void remember(const Target& target, const kube::Meta& meta);
  Task<Result<std::optional<kube::Meta>>> look(const Target* target, const ApplyRequest* request);
  Task<Result<Applied>> write(const Target* target, ApplyRequest request);
  Task<Result<void>> work(std::vector<ApplyRequest>* requests, std::size_t* next,
                          std::vector<std::optional<Result<Applied>>>* results);

  kube::Client& client_;
  Options options_;
  LruMap<Known> known_;
  Counter skipped_;
  Counter looked_;
  Counter written_;
};

}  // namespace mainspring::control
