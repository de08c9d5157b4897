// gres.conf: what slurmd reads, and slurmctld for nodes in the cloud.
#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "slurm/conf_lint_internal.h"
#include "slurm/conf_value.h"

namespace mainspring::slurm::linting {
namespace {

// Which of the records of one GRES have the key: all of them must, or none.
struct Together {
  const ConfLine* first = nullptr;
  bool has = false;
};

struct Records {
  Together file;
  Together type;
  std::size_t count = 0;
};

std::optional<std::uint64_t> gres_count(std::string_view text) {
  std::size_t digits = 0;
  while (digits < text.size() && is_ascii_digit(text[digits])) ++digits;
  const std::string_view unit = text.substr(digits);
  const auto number = parse_integer<std::uint64_t>(text.substr(0, digits));
  if (digits > 0 && (!number || *number >= std::numeric_limits<std::int64_t>::max())) {
    return std::nullopt;
  }
  if (!unit.empty() && !list_has("K,KB,KiB,M,MB,MiB,G,GB,GiB,T,TB,TiB,P,PB,PiB", unit)) {
    return std::nullopt;
  }
  return number.value_or(0);
}

class GresCheck {
 public:
  GresCheck(const Cluster* cluster, Findings& findings) : cluster_(cluster), findings_(findings) {}

  void check(const ConfLine& line) {
    std::string_view name;
    if (equals_ignore_case(line.key(), "Name")) {
      name = line.value();
      if (line.find("AutoDetect") != nullptr) {
        findings_.warn(line, "AutoDetect", "on this line it needs NodeName", "add NodeName");
      }
    } else if (equals_ignore_case(line.key(), "NodeName")) {
      const ConfPair* found = line.find("Name");
      const ConfPair* detect = line.find("AutoDetect");
      if (detect != nullptr) check_detect(line, detect->value);
      if (found == nullptr) {
        if (detect == nullptr) {
          findings_.warn(line, "Name", "the line names no GRES and is ignored", "add Name");
        }
        return;
      }
      name = found->value;
    } else {
      return;
    }
    check_known(line, name);
    check_names(line, name);
    check_values(line, name);
    check_together(line, name);
  }

 private:
  std::string where(const ConfLine& line) const {
    return equals_ignore_case(line.key(), "NodeName") ? line.value() : std::string();
  }

  // One node cannot be asked to look for GPUs in two ways.
  void check_detect(const ConfLine& line, std::string_view how) {
    const auto [known, fresh] = detect_.emplace(where(line), how);
    if (fresh || equals_ignore_case(known->second, how)) return;
    findings_.error(line, "AutoDetect", "another line for these nodes says otherwise",
                    "keep one of them");
  }

  void check_names(const ConfLine& line, std::string_view name) {
    const ConfPair* type = line.find("Type");
    for (const auto& [key, value] :
         {std::pair(std::string_view("Name"), name),
          std::pair(std::string_view("Type"),
                    type == nullptr ? std::string_view() : std::string_view(type->value))}) {
      if (auto problem = check_name(value)) {
        findings_.error(line, key, std::move(problem->message), std::move(problem->advice));
      }
    }
  }

  void check_known(const ConfLine& line, std::string_view name) {
    if (cluster_ == nullptr) return;
    const bool known = std::ranges::any_of(cluster_->gres_types, [&](const std::string& type) {
      return equals_ignore_case(type, name);
    });
    if (known) return;
    findings_.warn(line, "Name",
                   fmt::format("{} is not in GresTypes; the line is ignored", quoted(name)),
                   fmt::format("add {} to GresTypes of slurm.conf", quoted(name)));
  }

  void check_values(const ConfLine& line, std::string_view name) {
    const ConfPair* file = line.find("File");
    if (file == nullptr) file = line.find("Files");
    const ConfPair* several = line.find("MultipleFiles");
    const ConfPair* count = line.find("Count");
    std::optional<std::uint64_t> wanted;
    if (count != nullptr) {
      wanted = gres_count(count->value);
      if (!wanted) {
        findings_.error(line, "Count", fmt::format("{} is no count", quoted(count->value)),
                        "use a number, with K, M or G behind it where you like");
      }
    }
    if (file != nullptr && several != nullptr) {
      findings_.error(line, "MultipleFiles", "it excludes File", "keep one of them");
    }
    const auto files = file == nullptr
                           ? Result<std::vector<std::string>>(std::vector<std::string>())
                           : findings_.hosts(file->value);
    const bool shared = list_has("mps,shard", name);
    if (file != nullptr && files && wanted && !shared && *wanted != files->size()) {
      findings_.error(line, "Count", fmt::format("File names {} devices", files->size()),
                      "remove Count, or make them agree");
    }
    if (several != nullptr) {
      const auto devices = findings_.hosts(several->value);
      if (devices && devices->size() < 2) {
        findings_.error(line, "MultipleFiles", "it names one file", "use File");
      }
    }
    const ConfPair* flags = line.find("Flags");
    if (flags != nullptr && list_has(flags->value, "no_gpu_env") &&
        (list_has(flags->value, "nvidia_gpu_env") || list_has(flags->value, "amd_gpu_env") ||
         list_has(flags->value, "intel_gpu_env") || list_has(flags->value, "opencl_env"))) {
      findings_.error(line, "Flags", "no_gpu_env excludes the other _env flags",
                      "remove no_gpu_env");
    }
  }

  void check_together(const ConfLine& line, std::string_view name) {
    Records& records = records_[fmt::format("{}\n{}", where(line), name)];
    const bool file = line.find("File") != nullptr || line.find("Files") != nullptr ||
                      line.find("MultipleFiles") != nullptr;
    const bool type = line.find("Type") != nullptr;
    compare(line, records.file, file, "File");
    compare(line, records.type, type, "Type");
    if (++records.count > 1 && !file && !type) {
      findings_.error(line, "Name", fmt::format("{} is defined twice", quoted(name)),
                      "add up the counts on one line");
    }
  }

  void compare(const ConfLine& line, Together& together, bool has, std::string_view key) {
    if (together.first == nullptr) together = {&line, has};
    if (together.has == has) return;
    findings_.error(
        line, key,
        fmt::format("line {} and this one must both have it, or neither", together.first->line),
        "add it to all lines of this GRES");
  }

  const Cluster* cluster_;
  Findings& findings_;
  std::map<std::string, std::string> detect_;
  std::map<std::string, Records> records_;
};

}  // namespace

void check_gres(std::span<const ConfLine> lines, const Cluster* cluster, Findings& findings) {
  GresCheck check(cluster, findings);
  for (const ConfLine& line : lines) check.check(line);
}

}  // namespace mainspring::slurm::linting
