// slurm/tres_fuzz.cc
//
// The text formats of this room: whatever comes, what is read can be written and read again.
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "slurm/job_id.h"
#include "slurm/slurm_time.h"
#include "slurm/states.h"
#include "slurm/tres.h"

using namespace mainspring;
using namespace mainspring::slurm;

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (const auto tres = Tres::parse(text)) {
    const auto again = Tres::parse(tres->to_string());
    require(again && *again == *tres);
    static_cast<void>(tres->gres("gpu"));
  }
  if (const auto list = parse_gres(text)) require(parse_gres(format_gres(*list)).has_value());
  if (const auto cores = parse_core_bitmap(text)) {
    require(parse_index_list(format_index_list(*cores)).value() == *cores);
  }
  if (const auto limit = parse_time_limit(text)) {
    require(parse_time_limit(format_time_limit(*limit)).value() == *limit);
  }
  const WallTime now{seconds(1794770807)};
  if (const auto time = parse_slurm_time(text, now, hours(2)); time && *time) {
    static_cast<void>(format_slurm_time(**time));
  }
  if (const auto state = parse_node_state(text)) {
    // A flag alone may be a word of sinfo's, which names the base as well.
    if (state->base() != NodeState::Base::kNone) {
      require(parse_node_state(state->to_string()).value() == *state);
    }
    static_cast<void>(state->short_text());
  }
  if (const auto state = parse_job_state(text)) {
    require(parse_job_state(state->to_string()).value() == *state);
  }
  static_cast<void>(parse_job_id_text(text));
  return 0;
}
