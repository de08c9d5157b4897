// bridge/nodes/lodgers.h
//
// Lodger: a pod that another scheduler, or nobody, has put on a node: what it takes there of which
// Slurm knows nothing (translate/taken), and nothing else of it. There may be far more of them than
// of ours, so only those are kept that can be in our way. Pods of DaemonSets are not: those are
// known by their DaemonSet, also before they are there. Values and pure functions.
#pragma once

#include "json/reader.h"
#include "kube/pod.h"

namespace mainspring::bridge {

struct Lodger {
  inline static const kube::Resource kResource = kube::Pod::kResource;

  kube::Meta meta;  // Its name, and which version of it this is.
  kube::Text node_name;
  kube::Shared<kube::PodSpec> spec;  // What_it_takes() of it.
  bool of_daemon_set = false;
  bool of_node = false;  // The kubelet's own, by a file on its node.

  bool operator==(const Lodger&) const = default;
};

bool read(json::Reader& reader, Lodger& out);

// Of a pod only the ports and amounts that count here, so that many have the same.
kube::PodSpec what_it_takes(const kube::PodSpec& spec);

// `tainted`: whether our nodes keep ordinary pods of others away.
bool can_be_in_the_way(const Lodger& lodger, bool tainted);

}  // namespace mainspring::bridge
