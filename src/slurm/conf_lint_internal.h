// slurm/conf_lint_internal.h
//
// What the parts of the linter share. Only for conf_lint*.cc.
#pragma once

#include <cstddef>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "slurm/conf_file.h"
#include "slurm/conf_lint.h"
#include "slurm/conf_value.h"

namespace mainspring::slurm::linting {

// Collects what is found, each thing once.
class Findings {
 public:
  explicit Findings(const LintOptions& options) : options_(options) {}

  Release release() const { return options_.release; }

  void error(const ConfLine& line, std::string_view key, std::string message, std::string advice);
  void warn(const ConfLine& line, std::string_view key, std::string message, std::string advice);
  void add(Finding finding);
  // Nothing more will be kept: work that only explains can be saved.
  bool full() const { return all_.size() >= options_.max_findings; }

  // A hostlist in full. All of a set together may name a few million hosts, each list what Slurm
  // takes: more is an error, so that a small hostile file costs little.
  Result<std::vector<std::string>> hosts(std::string_view text);
  // As check_value(), with the same bound.
  std::optional<ValueProblem> check(const ConfKey& key, std::string_view value);

  std::vector<Finding> sorted() &&;

 private:
  const LintOptions& options_;
  std::vector<Finding> all_;
  std::size_t hosts_left_ = 4'000'000;
};

// The keys of a file that count once, in any case.
class Settings {
 public:
  Settings() = default;
  explicit Settings(std::span<const ConfLine> lines);

  const ConfLine* line(std::string_view key) const;
  // Empty where the key is not there.
  std::string_view value(std::string_view key) const;
  bool has(std::string_view key) const { return line(key) != nullptr; }

 private:
  std::map<std::string, const ConfLine*, std::less<>> last_;  // by key in lower case
};

// What topology.yaml defines, for the lines of slurm.conf that name it.
struct Topologies {
  bool known = false;  // the file is there and could be read
  std::map<std::string, std::set<std::string>, std::less<>> trees;  // name -> its switches
  std::set<std::string, std::less<>> others;
};

// What slurm.conf defines, for the other files.
struct Cluster {
  Settings settings;
  std::set<std::string, std::less<>> nodes;
  std::set<std::string, std::less<>> gres_types;
};

// What is wrong with a name that Slurm puts between colons and commas, and into the environment of
// jobs: of a switch, a block, a GRES or its type. Nothing where it is an ordinary one.
struct NameProblem {
  std::string message;
  std::string advice;
};
std::optional<NameProblem> check_name(std::string_view name);

// Keys, values and repetitions by the tables; the same for all key=value files.
void check_lines(std::string_view file, std::span<const ConfLine> lines, Findings& findings);

// Keys of slurm.conf that must be there, or that go only with others.
void check_settings(std::span<const ConfLine> lines, const ConfSet& files, Cluster& cluster,
                    Findings& findings);

// Nodes, node sets, partitions and down nodes of slurm.conf.
void check_nodes(std::span<const ConfLine> lines, const Topologies& topologies, Cluster& cluster,
                 Findings& findings);

// `cluster` is null where there is no slurm.conf to compare with.
void check_gres(std::span<const ConfLine> lines, const Cluster* cluster, Findings& findings);
void check_dbd(std::span<const ConfLine> lines, Findings& findings);
void check_cgroup(std::span<const ConfLine> lines, const Cluster* cluster, Findings& findings);

Topologies read_topologies(const std::string& text, Findings& findings);
// Names of nodes in topology.yaml that slurm.conf does not have.
void check_topology_nodes(const std::string& text, const Cluster& cluster, Findings& findings);

}  // namespace mainspring::slurm::linting
