// operator/webhook/review.cc
#include "operator/webhook/review.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

namespace mainspring::op {
namespace {

using control::AdmissionRequest;
using control::AdmissionResponse;
using json::Value;

bool is_same(const AdmissionRequest& request, std::string_view pointer) {
  const Value* const after = request.object.at_pointer(pointer);
  const Value* const before = request.old_object.at_pointer(pointer);
  return after == nullptr || before == nullptr ? after == before : *after == *before;
}

}  // namespace

bool detail::is_settled(const AdmissionRequest& request) {
  if (request.operation == "DELETE" || request.object.is_null()) return true;
  if (request.object.at_pointer("/metadata/deletionTimestamp") != nullptr) return true;
  if (request.old_object.is_null()) return false;
  // A ConfigMap has the two instead of a spec.
  return is_same(request, "/spec") && is_same(request, "/data") && is_same(request, "/binaryData");
}

AdmissionResponse answer(const std::string& what, api::Findings findings) {
  AdmissionResponse response;
  if (!findings.ok()) {
    std::vector<kube::StatusCause> causes;
    causes.reserve(findings.problems.size());
    for (api::Problem& problem : findings.problems) {
      causes.push_back({"FieldValueInvalid", std::move(problem.message), std::move(problem.field)});
    }
    response = AdmissionResponse::invalid_fields(what, std::move(causes));
  }
  response.warnings = std::move(findings.warnings);
  return response;
}

std::string name_of(const AdmissionRequest& request) {
  return fmt::format("{} {}/{}", request.kind.kind, request.ns, request.name);
}

}  // namespace mainspring::op
