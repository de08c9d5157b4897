// Users write annotations. Each line of the input is one: its name up to the first '=', its value
// behind it. Whatever comes is refused by name or gives values within Slurm's range.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "base/text.h"
#include "bridge/names.h"
#include "bridge/translate/annotations.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  bridge::Annotations annotations;
  for (const std::string_view line : split({reinterpret_cast<const char*>(data), size}, '\n')) {
    const std::size_t equals = line.find('=');
    const std::string name(line.substr(0, equals));
    const std::string value(equals == std::string_view::npos ? "" : line.substr(equals + 1));
    annotations.emplace(name, value);
    annotations.emplace(std::string(bridge::kJobPrefix) + name, value);
  }
  const auto parsed = bridge::parse_annotations(annotations);
  if (!parsed) {
    if (parsed.error().code() != Code::kInvalid || !is_valid_utf8(parsed.error().to_string())) {
      std::abort();
    }
    return 0;
  }
  for (const auto& number :
       {parsed->cpus_per_task, parsed->max_nodes, parsed->min_nodes, parsed->tasks_per_node}) {
    if (number && *number < 1) std::abort();
  }
  for (const auto& number : {parsed->priority, parsed->timelimit_minutes}) {
    if (number && *number < 0) std::abort();
  }
  if (parsed->memory_per_node_mb && *parsed->memory_per_node_mb < 0) std::abort();
  return 0;
}
