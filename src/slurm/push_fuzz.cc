// Whatever arrives at the push endpoint is read or refused; what is read names a job.
#include <cstdint>
#include <cstdlib>

#include "slurm/push.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const auto event = mainspring::slurm::parse_push({reinterpret_cast<const char*>(data), size});
  if (event && !event->job) std::abort();
  return 0;
}
