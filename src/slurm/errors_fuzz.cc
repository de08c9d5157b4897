// Whatever a server answers, it is good or one error with a message of bounded length.
#include "slurm/errors.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  using namespace mainspring::slurm;
  if (size < 2) return 0;
  constexpr int kStatuses[] = {200, 204, 304, 400, 401, 404, 422, 500, 502, 511};
  const int status = kStatuses[data[0] % std::size(kStatuses)];
  const Endpoint endpoint = all_endpoints()[data[1] % all_endpoints().size()].endpoint;
  const std::string_view body(reinterpret_cast<const char*>(data + 2), size - 2);
  json::Reader reader;
  const Envelope envelope = envelope_of(reader, body);
  for (const JobOutcome& outcome : envelope.outcomes) {
    if (outcome_error(endpoint, outcome).message().empty()) std::abort();
  }
  const auto verdict = judge(endpoint, status, envelope, body);
  if (verdict) {
    if (status >= 400) std::abort();
    return 0;
  }
  if (verdict.error().message().empty() || verdict.error().message().size() > 4'096) std::abort();
  if (slurm_error(verdict.error()) == nullptr) std::abort();
  if (is_unknown_path(status, envelope) && verdict.error().code() != Code::kUnsupported) {
    std::abort();
  }
  return 0;
}
