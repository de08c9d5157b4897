#include "kube/batch.h"

namespace mainspring::kube {

namespace {

void read_completion_mode(json::Reader& reader, Job& out) {
  std::string_view mode;
  if (reader.read(mode)) out.indexed = mode == "Indexed";
}

}  // namespace

bool read(json::Reader& reader, Job& out) {
  static constexpr auto kFields = json::fields(
      json::field("metadata", &Job::meta),
      json::group("spec", json::field("parallelism", &Job::parallelism),
                  json::field("completions", &Job::completions),
                  json::field("activeDeadlineSeconds", &Job::active_deadline_seconds),
                  json::field("template", &Job::pod), json::field("managedBy", &Job::managed_by),
                  json::field("suspend", &Job::suspended),
                  json::field("completionMode", &read_completion_mode)),
      json::group("status", json::field("conditions", &Job::conditions),
                  time_field<&Job::started>("startTime"),
                  time_field<&Job::completed>("completionTime"),
                  json::field("active", &Job::active), json::field("succeeded", &Job::succeeded),
                  json::field("failed", &Job::failed)));
  return json::read_fields<kFields>(reader, out);
}

}  // namespace mainspring::kube
