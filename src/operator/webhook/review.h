// operator/webhook/review.h
//
// What the handlers of our admission webhooks share: the objects of a request, decoded, and
// findings turned into an answer. Pure.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "api/validate.h"
#include "control/admission.h"
#include "json/fields.h"

namespace mainspring::op {

template <class T>
struct Versions {
  std::shared_ptr<const T> after;
  std::shared_ptr<const T> before;  // Null for a new object.
  // Nothing is to be judged: it is being deleted, or what counts is as it was.
  bool settled = false;
};

namespace detail {
bool is_settled(const control::AdmissionRequest& request);

template <class T>
Result<std::shared_ptr<const T>> decode(const json::Value& object, const std::string& ns) {
  json::Reader reader;
  MS_TRY(T value, json::decode<T>(reader, json::to_text(object)));
  if (value.meta.ns.empty()) value.meta.ns = ns;
  return std::make_shared<const T>(std::move(value));
}
}  // namespace detail

// kInvalid, which is a denial, where the object cannot be read. One that was stored before and
// cannot be read any more is as none: it must be possible to repair it.
template <class T>
Result<Versions<T>> versions_of(const control::AdmissionRequest& request) {
  Versions<T> versions;
  versions.settled = detail::is_settled(request);
  if (versions.settled) return versions;
  MS_TRY(versions.after, with_context(detail::decode<T>(request.object, request.ns),
                                      T::kResource.kind + " " + request.name));
  if (!request.old_object.is_null()) {
    auto before = detail::decode<T>(request.old_object, request.ns);
    if (before) versions.before = *std::move(before);
  }
  return versions;
}

// `what` names the object: "Controller slurm/main".
control::AdmissionResponse answer(const std::string& what, api::Findings findings);
std::string name_of(const control::AdmissionRequest& request);

}  // namespace mainspring::op
