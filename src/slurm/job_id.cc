// slurm/job_id.cc
#include "slurm/job_id.h"

#include <algorithm>
#include <limits>

#include "base/text.h"

namespace mainspring::slurm {
namespace {

tl::unexpected<Error> not_a_job(std::string_view text) {
  return fail(Code::kInvalid, quoted(text) + " is not the id of a job");
}

bool is_task_list(std::string_view text) {
  constexpr std::string_view kAllowed = "0123456789,-:%";
  return !text.empty() && text.find_first_not_of(kAllowed) == std::string_view::npos;
}

}  // namespace

bool read(json::Reader& reader, JobId& out) {
  Number number;
  if (!read(reader, number)) return false;
  const std::int64_t value = number.value_or(0);
  if (value < 0 || value > std::numeric_limits<std::uint32_t>::max()) {
    reader.refuse("not the id of a job");
    return false;
  }
  out = JobId(static_cast<std::uint32_t>(value));
  return true;
}

Result<JobIdText> parse_job_id_text(std::string_view text) {
  JobIdText parsed;
  const std::size_t end = std::min(text.find_first_of("+_"), text.size());
  const Result<std::uint32_t> number = parse_integer<std::uint32_t>(text.substr(0, end));
  if (!number || *number == 0) return not_a_job(text);
  parsed.id = JobId(*number);
  if (end == text.size()) return parsed;

  std::string_view rest = text.substr(end + 1);
  if (text[end] == '_' && rest == "*") {
    parsed.array_tasks = rest;
    return parsed;
  }
  if (text[end] == '_' && rest.size() > 2 && rest.front() == '[' && rest.back() == ']') {
    parsed.array_tasks = rest.substr(1, rest.size() - 2);
    if (!is_task_list(parsed.array_tasks)) return not_a_job(text);
    return parsed;
  }
  const Result<std::uint32_t> part = parse_integer<std::uint32_t>(rest);
  if (!part) return not_a_job(text);
  (text[end] == '+' ? parsed.het_offset : parsed.array_task) = Number(*part);
  return parsed;
}

}  // namespace mainspring::slurm
