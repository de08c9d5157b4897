// No files break the linter. The first byte chooses which file the rest is; with it stands a good
// slurm.conf where it is another one.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>

#include "slurm/conf_lint.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::slurm;
  if (size == 0) return 0;
  constexpr std::string_view kNames[] = {"slurm.conf", "cgroup.conf", "gres.conf", "slurmdbd.conf",
                                         "topology.yaml"};
  const std::string_view name = kNames[data[0] % std::size(kNames)];
  std::string text(reinterpret_cast<const char*>(data) + 1, size - 1);
  ConfSet files;
  files["slurm.conf"] =
      "ClusterName=c\nSlurmctldHost=h\nGresTypes=gpu\nNodeName=n[1-4]\nPartitionName=p Nodes=ALL "
      "Default=YES Topology=t\n";
  files["more.conf"] = text;
  files[std::string(name)] = std::move(text);
  for (const Release release : {kOldestRelease, kNewestRelease}) {
    const auto findings = lint(files, {.release = release});
    for (const Finding& finding : findings) {
      if (finding.message.empty() || finding.file.empty()) std::abort();
      if (to_string(finding).find('\n') != std::string::npos) std::abort();
    }
  }
  return 0;
}
