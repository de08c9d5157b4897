// No text breaks the reader, and whatever it reads can be written so that it reads the same, unless
// the writer refuses it.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "slurm/conf_file.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::slurm;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  // The text includes itself, wherever it includes something.
  const auto provider = [&](std::string_view) { return std::optional<std::string_view>(text); };
  const ConfFile file =
      read_conf("slurm.conf", text, provider, {.max_bytes = std::size_t{1} << 16});
  for (const ConfLine& line : file.lines) {
    const auto rendered = render_conf(line);
    if (!rendered) continue;
    const auto again = read_conf(line.file, *rendered, provider);
    if (again.lines.size() != 1 || again.lines[0].pairs != line.pairs) std::abort();
  }
  return 0;
}
