// slurm/records_fuzz.cc
//
// Answers of any kind: every record is read from whatever bytes come, without harm.
#include <cstdint>
#include <string_view>

#include "slurm/accounting.h"
#include "slurm/job.h"
#include "slurm/job_pulse.h"
#include "slurm/node.h"
#include "slurm/partition.h"
#include "slurm/reservation.h"
#include "slurm/resources.h"

using namespace mainspring;
using namespace mainspring::slurm;

namespace {

template <class... T>
void decode_as(json::Reader& reader, std::string_view text) {
  (static_cast<void>(json::decode<T>(reader, text)), ...);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static json::Reader reader;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  decode_as<Node, Job, JobPulse, Partition, Reservation, NodeAllocation, Diag, Share, DbJob,
            DbConfig>(reader, text);
  return 0;
}
