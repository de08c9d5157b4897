// control/fresh_read.cc
#include "control/fresh_read.h"

#include <utility>

namespace mainspring::control {

net::Task<Result<std::optional<kube::Meta>>> read_after_refusal(Error refusal,
                                                                kube::Api<ObjectMeta> api,
                                                                kube::Meta seen) {
  if (refusal.code() == Code::kNotFound) co_return std::nullopt;
  // A version that has passed is kConflict; a UID that cannot change and a `test` that found
  // something else are kInvalid.
  if (refusal.code() != Code::kConflict && refusal.code() != Code::kInvalid) {
    co_return fail(std::move(refusal));
  }
  auto fresh = co_await api.get(seen.name);
  if (!fresh && fresh.error().code() == Code::kNotFound) co_return std::nullopt;
  if (!fresh) co_return fail(std::move(fresh).error());
  if (fresh->meta.uid != seen.uid) co_return std::nullopt;
  if (fresh->meta.resource_version == seen.resource_version) co_return fail(std::move(refusal));
  co_return std::move(fresh->meta);
}

}  // namespace mainspring::control
