#include "operator/build/kept_partitions.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "base/hostlist.h"
#include "base/text.h"

namespace mainspring::op::build {
namespace {

using slurm::ConfFile;
using slurm::ConfLine;
using slurm::ConfPair;

constexpr std::string_view kNodes = "Nodes";

bool is_default(const ConfLine& line) { return equals_ignore_case(line.value(), "DEFAULT"); }

// The lines of one kind by name, with what they inherit. Of two of one name the first counts.
class Lines {
 public:
  Lines(const ConfFile& conf, std::string_view key) {
    std::vector<ConfPair> defaults;
    for (const ConfLine& line : conf.lines) {
      if (!equals_ignore_case(line.key(), key)) continue;
      if (is_default(line)) {
        defaults.insert(defaults.end(), line.pairs.begin() + 1, line.pairs.end());
      } else if (by_name_.emplace(line.value(), all_.size()).second) {
        all_.push_back(with_defaults(line, defaults));
      }
    }
  }

  const std::vector<ConfLine>& all() const { return all_; }
  const ConfLine* find(std::string_view name) const {
    const auto it = by_name_.find(name);
    return it == by_name_.end() ? nullptr : &all_[it->second];
  }

 private:
  // Later defaults count, so they are looked at first.
  static ConfLine with_defaults(ConfLine line, const std::vector<ConfPair>& defaults) {
    for (std::size_t i = defaults.size(); i-- > 0;) {
      if (line.find(defaults[i].key) == nullptr) line.pairs.push_back(defaults[i]);
    }
    return line;
  }

  std::vector<ConfLine> all_;
  std::map<std::string, std::size_t, std::less<>> by_name_;
};

std::set<std::string, std::less<>> nodes_in(const ConfFile& conf) {
  std::set<std::string, std::less<>> names;
  for (const ConfLine& line : conf.lines) {
    if (!equals_ignore_case(line.key(), "NodeName") || is_default(line)) continue;
    if (auto hosts = expand_hostlist(line.value())) names.insert(hosts->begin(), hosts->end());
  }
  return names;
}

void erase(ConfLine& line, std::string_view key) {
  line.pairs.erase(
      std::remove_if(line.pairs.begin() + 1, line.pairs.end(),
                     [&](const ConfPair& pair) { return equals_ignore_case(pair.key, key); }),
      line.pairs.end());
}

// What it names; nothing where that is all nodes, or what only slurmctld can tell.
std::vector<std::string> members_of(const ConfLine& line) {
  const ConfPair* const nodes = line.find(kNodes);
  if (nodes == nullptr || equals_ignore_case(nodes->value, "ALL") ||
      nodes->value.find('{') != std::string::npos) {
    return {};
  }
  auto names = expand_hostlist(nodes->value);
  return names ? *std::move(names) : std::vector<std::string>();
}

void keep_members(ConfLine& line, const std::function<bool(std::string_view name)>& is_there) {
  const std::vector<std::string> names = members_of(line);
  std::vector<std::string> left;
  std::copy_if(names.begin(), names.end(), std::back_inserter(left), is_there);
  if (left.size() == names.size()) return;
  erase(line, kNodes);
  if (!left.empty()) line.pairs.push_back({std::string(kNodes), join(left, ",")});
}

std::string text_of(ConfLine line) {
  // A value that cannot be written again is one that Slurm could not have read as it was meant.
  line.pairs.erase(std::remove_if(line.pairs.begin() + 1, line.pairs.end(),
                                  [](const ConfPair& one) {
                                    return !slurm::check_conf_value(one.key, one.value).has_value();
                                  }),
                   line.pairs.end());
  const Result<std::string> text = slurm::render_conf(line);
  return text ? std::string(trim(*text)) : std::string();
}

bool has_state(const ConfLine& line, std::string_view state) {
  const ConfPair* const found = line.find("State");
  return found != nullptr && equals_ignore_case(found->value, state);
}

bool is_closed(const ConfLine& partition) {
  return has_state(partition, "DRAIN") || has_state(partition, "INACTIVE");
}

std::string closed(ConfLine line) {
  const bool starts_none = has_state(line, "DOWN") || has_state(line, "INACTIVE");
  erase(line, "State");
  erase(line, "Default");
  line.pairs.push_back({"State", starts_none ? "INACTIVE" : "DRAIN"});
  return text_of(std::move(line));
}

class Keeping {
 public:
  Keeping(const ConfFile& before, const ConfFile& after)
      : sets_before_(before, "NodeSet"), sets_after_(after, "NodeSet"), nodes_(nodes_in(after)) {}

  void keep(ConfLine partition) {
    for (const std::string& name : members_of(partition)) keep_set(name);
    keep_members(partition, [&](std::string_view name) {
      return nodes_.contains(name) || sets_after_.find(name) != nullptr || kept_.contains(name);
    });
    lines.push_back(closed(std::move(partition)));
  }

  std::vector<std::string> lines;

 private:
  void keep_set(const std::string& name) {
    const ConfLine* const set = sets_before_.find(name);
    if (set == nullptr || sets_after_.find(name) != nullptr || nodes_.contains(name)) return;
    if (!kept_.insert(name).second) return;
    ConfLine line = *set;
    keep_members(line, [&](std::string_view node) { return nodes_.contains(node); });
    lines.push_back(text_of(std::move(line)));
  }

  const Lines sets_before_, sets_after_;
  const std::set<std::string, std::less<>> nodes_;
  std::set<std::string, std::less<>> kept_;
};

}  // namespace

std::string closed_partition(std::string_view line) {
  const ConfFile read =
      slurm::read_conf("slurm.conf", line, [](auto) { return std::optional<std::string_view>(); });
  return read.lines.empty() ? std::string(line) : closed(read.lines.front());
}

std::vector<std::string> kept_lines(const ConfFile& before, const ConfFile& after,
                                    const std::function<bool(std::string_view partition)>& may_go) {
  const Lines earlier(before, "PartitionName");
  const Lines partitions(after, "PartitionName");
  std::optional<Keeping> kept;
  for (const ConfLine& line : earlier.all()) {
    if (partitions.find(line.value()) != nullptr) continue;
    if (is_closed(line) && may_go(line.value())) continue;
    if (!kept) kept.emplace(before, after);
    kept->keep(line);
  }
  return kept ? std::move(kept->lines) : std::vector<std::string>();
}

}  // namespace mainspring::op::build
