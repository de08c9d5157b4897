#include "bridge/translate/annotations.h"

#include <fmt/format.h>

#include <limits>
#include <string_view>

#include "base/quantity.h"
#include "base/text.h"
#include "bridge/names.h"

namespace mainspring::bridge {
namespace {

// False where the text is not what it should be.
using Setter = bool (*)(std::string_view text, JobAnnotations& out);

template <auto Member>
bool set_text(std::string_view text, JobAnnotations& out) {
  // Templates that fill in nothing mean nothing; Slurm would look for a thing without a name.
  if (!text.empty()) out.*Member = std::string(text);
  return true;
}

template <auto Member, std::int32_t kLowest,
          std::int32_t kHighest = std::numeric_limits<std::int32_t>::max()>
bool set_number(std::string_view text, JobAnnotations& out) {
  const auto number = parse_integer<std::int32_t>(trim(text));
  if (!number || *number < kLowest || *number > kHighest) return false;
  out.*Member = *number;
  return true;
}

// Whole units, rounded up.
std::optional<std::int64_t> parse_amount(std::string_view text) {
  const auto quantity = Quantity::parse(trim(text));
  if (!quantity || quantity->is_negative()) return std::nullopt;
  const auto units = quantity->value();
  return units ? std::optional(*units) : std::nullopt;
}

bool set_cpus(std::string_view text, JobAnnotations& out) {
  const auto cpus = parse_amount(text);
  if (!cpus || *cpus == 0 || *cpus > std::numeric_limits<std::int32_t>::max()) return false;
  out.cpus_per_task = static_cast<std::int32_t>(*cpus);
  return true;
}

bool set_memory(std::string_view text, JobAnnotations& out) {
  constexpr std::int64_t kMiB = std::int64_t{1} << 20;
  const auto bytes = parse_amount(text);
  if (!bytes) return false;
  out.memory_per_node_mb = *bytes / kMiB + (*bytes % kMiB == 0 ? 0 : 1);
  return true;
}

bool set_exclusive(std::string_view text, JobAnnotations& out) {
  out.exclusive = !equals_ignore_case(trim(text), "false");
  return true;
}

bool set_heterogeneous(std::string_view text, JobAnnotations& out) {
  out.heterogeneous = text == "true";
  return text == "true" || text == "false";
}

struct Row {
  std::string_view suffix;
  Setter set;
  std::string_view expected;
};

using J = JobAnnotations;
constexpr std::string_view kText = "text";
// Slurm counts the tasks of a node in 16 bits.
constexpr std::int32_t kMostTasks = 65533;
constexpr std::string_view kFromOne = "a whole number from 1";
constexpr Row kRows[] = {
    {"account", set_text<&J::account>, kText},
    {"constraints", set_text<&J::constraints>, kText},
    {"cpu-per-task", set_cpus, R"(an amount above 0, such as "4" or "500m")"},
    {"exclusive", set_exclusive, kText},
    {"gres", set_text<&J::gres>, kText},
    {"group-id", set_text<&J::group_id>, kText},
    {"job-name", set_text<&J::job_name>, kText},
    {"licenses", set_text<&J::licenses>, kText},
    {"max-nodes", set_number<&J::max_nodes, 1>, kFromOne},
    {"mem-per-node", set_memory, R"(an amount of memory, such as "16Gi")"},
    {"min-nodes", set_number<&J::min_nodes, 1>, kFromOne},
    {"partition", set_text<&J::partition>, kText},
    {"priority", set_number<&J::priority, 0>, "a whole number from 0"},
    {"qos", set_text<&J::qos>, kText},
    {"reservation", set_text<&J::reservation>, kText},
    {"timelimit", set_number<&J::timelimit_minutes, 0>, R"(whole minutes, such as "90")"},
    {"user-id", set_text<&J::user_id>, kText},
    {"wckey", set_text<&J::wckey>, kText},
};

class Parser {
 public:
  explicit Parser(const Annotations& annotations) : annotations_(annotations) {}

  // False where there is no annotation of that name.
  bool take(const std::string& name, const Row& row) {
    const auto at = annotations_.find(name);
    if (at == annotations_.end()) return false;
    if (!row.set(at->second, out_)) {
      bad_.push_back(fmt::format("{} is {}, expected {}", name, quoted(at->second), row.expected));
    }
    return true;
  }

  void take_early(const std::string& name, const Row& row) {
    if (take(name, row)) out_.early.push_back(name);
  }

  Result<JobAnnotations> finish() && {
    if (bad_.empty()) return std::move(out_);
    return fail(Code::kInvalid, "cannot read annotations: " + join(bad_, "; "));
  }

 private:
  const Annotations& annotations_;
  JobAnnotations out_;
  std::vector<std::string> bad_;
};

}  // namespace

Result<JobAnnotations> parse_annotations(const Annotations& annotations) {
  Parser parser(annotations);
  for (const Row& row : kRows) {
    const std::string suffix(row.suffix);
    if (!parser.take(std::string(kJobPrefix) + suffix, row)) {
      parser.take_early(std::string(kEarlyJobPrefix) + suffix, row);
    }
  }
  parser.take(
      std::string(kTasksPerNodeAnnotation),
      {"", set_number<&J::tasks_per_node, 1, kMostTasks>, "a whole number from 1 to 65533"});
  parser.take(std::string(kHeterogeneousAnnotation),
              {"", set_heterogeneous, R"("true" or "false")"});
  return std::move(parser).finish();
}

}  // namespace mainspring::bridge
