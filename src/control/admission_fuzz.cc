// What the API server sends passes through whatever users write. Whatever comes: no crash, and what
// is accepted gets an answer that is JSON and names the request.
#include <cstddef>
#include <cstdint>
#include <string_view>

#include "control/admission.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  const std::string_view body(reinterpret_cast<const char*>(data), size);
  const auto review = control::read_admission_review(body);
  if (!review) return 0;
  auto response = control::AdmissionResponse::allow_as(review->request.old_object);
  response.warnings = {std::string(body)};
  const auto text =
      control::write_admission_review(*review, control::AdmissionKind::kMutating, response);
  if (!text) __builtin_trap();
  const auto answer = json::parse(*text);
  if (!answer || *answer->at_pointer("/response/uid") != json::Value(review->request.uid)) {
    __builtin_trap();
  }
  return 0;
}
