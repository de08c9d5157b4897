// No text breaks the reader, and whatever it reads can be written so that it reads the same, unless
// the writer refuses it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "slurm/topology_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::slurm;
  const auto topologies =
      read_topology(std::string_view(reinterpret_cast<const char*>(data), size));
  if (!topologies) return 0;
  const auto written = render_topology(*topologies);
  if (!written) return 0;
  const auto again = read_topology(*written);
  if (!again || render_topology(*again) != written) std::abort();
  return 0;
}
