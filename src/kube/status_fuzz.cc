// Whatever a server says with its refusal, the refusal is an error that says what was asked.
#include "kube/status.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  if (size < 1) return 0;
  constexpr int kStatuses[] = {302, 400, 401, 404, 409, 410, 422, 429, 500, 503};
  const std::string_view body(reinterpret_cast<const char*>(data + 1), size - 1);
  const http::Response response =
      http::json_response(kStatuses[data[0] % std::size(kStatuses)], std::string(body));
  const Error error = kube::error_of(response, "asking", WallTime());
  if (error.to_string().find("asking") == std::string::npos) std::abort();
  if (error.retry_after() && *error.retry_after() < Duration::zero()) std::abort();
  const kube::Status* status = kube::status_of(error);
  if (status != nullptr && status->status != "Failure") std::abort();
  return 0;
}
