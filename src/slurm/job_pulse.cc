// slurm/job_pulse.cc
#include "slurm/job_pulse.h"

#include <utility>

namespace mainspring::slurm {

void read_pulse_id(json::Reader& reader, JobPulse& out) {
  if (reader.kind() != json::Reader::Kind::kString) {
    read(reader, out.id);
    return;
  }
  std::string_view text;
  if (!reader.read(text)) return;
  auto parsed = parse_job_id_text(text);
  if (!parsed) return reader.refuse(std::move(parsed).error().message());
  out.id = parsed->id;
  out.array_task = parsed->array_task;
  out.is_array = parsed->is_array();
  out.is_het_part = parsed->het_offset.set();
}

}  // namespace mainspring::slurm
