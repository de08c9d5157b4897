#include "slurm/conf_keys_tables.h"

namespace mainspring::slurm::tables {
namespace {

using enum ConfType;
using enum ConfUse;

constexpr ConfKey kNodeRows[] = {
    conf_key("BcastAddr", kHosts),
    conf_key("Boards", kUint16),
    conf_key("CoreSpecCount", kUint16),
    conf_key("CoresPerSocket", kUint16),
    conf_key("CpuBind"),
    conf_key("CPUs", kUint16),
    conf_key("CPUSpecList"),
    conf_key("Feature"),
    conf_key("Features"),
    conf_key("Gres"),
    conf_key("GresConf").from(2511),
    conf_key("MemSpecLimit", kUint64),
    conf_key("NodeAddr", kHosts),
    conf_key("NodeHostname", kHosts),
    conf_key("Parameters").from(2511),
    conf_key("Port"),
    conf_key("Procs", kUint16).better("CPUs"),
    conf_key("RealMemory", kUint64),
    conf_key("Reason"),
    conf_key("RestrictedCoresPerGPU", kUint16),
    conf_key("Sockets", kUint16),
    conf_key("SocketsPerBoard", kUint16),
    conf_key("State"),
    conf_key("SuspendTime", kSeconds).from(2605),
    conf_key("ThreadsPerCore", kUint16),
    conf_key("TmpDisk", kUint32),
    conf_key("Topology").from(2505),
    conf_key("TRESWeights", kWeights),
    conf_key("Weight", kUint32),
};

constexpr ConfKey kPartitionRows[] = {
    conf_key("AllocNodes"),
    conf_key("AllowAccounts"),
    conf_key("AllowGroups"),
    conf_key("AllowQos"),
    conf_key("Alternate"),
    conf_key("CpuBind"),
    conf_key("Default", kBool),
    conf_key("DefaultTime", kTime),
    conf_key("DefCPUPerGPU", kUint64),
    conf_key("DefMemPerCPU", kUint64),
    conf_key("DefMemPerGPU", kUint64),
    conf_key("DefMemPerNode", kUint64),
    conf_key("DenyAccounts"),
    conf_key("DenyQos"),
    conf_key("DisableRootJobs", kBool),
    conf_key("Exclusive", kChoice).of("NO,NONE,NODE,USER,TOPO").from(2605),
    conf_key("ExclusiveTopo", kBool),
    conf_key("ExclusiveUser", kBool),
    conf_key("GraceTime", kUint32),
    conf_key("Hidden", kBool),
    conf_key("LLN", kBool),
    conf_key("MaxCPUsPerNode", kUint32),
    conf_key("MaxCPUsPerSocket", kUint32),
    conf_key("MaxMemPerCPU", kUint64),
    conf_key("MaxMemPerNode", kUint64),
    conf_key("MaxNodes", kUint32),
    conf_key("MaxTime", kTime),
    conf_key("MinNodes", kUint32),
    conf_key("Nodes"),
    conf_key("OverSubscribe"),
    conf_key("OverTimeLimit"),
    conf_key("PowerDownOnIdle", kBool),
    conf_key("PreemptMode", kChoices).of(kPreemptModes).or_ignored(),
    conf_key("Priority", kUint16).better("PriorityTier and PriorityJobFactor"),
    conf_key("PriorityJobFactor", kUint16),
    conf_key("PriorityTier", kUint16),
    conf_key("QOS"),
    conf_key("ReqResv", kBool),
    conf_key("ResumeTimeout", kUint16),
    conf_key("RootOnly", kBool),
    conf_key("SelectTypeParameters", kPrefix)
        .of("CR_Core_Memory,CR_Core,CR_Socket_Memory,CR_Socket"),
    conf_key("Shared").better("OverSubscribe"),
    conf_key("State", kPrefix).of("UP,DOWN,DRAIN,INACTIVE"),
    conf_key("SuspendTime", kSeconds),
    conf_key("SuspendTimeout", kUint16),
    conf_key("Topology").from(2505),
    conf_key("TRESBillingWeights", kWeights),
};

constexpr ConfKey kNodeSetRows[] = {
    conf_key("Feature"),
    conf_key("Nodes"),
};

constexpr ConfKey kDownNodesRows[] = {
    conf_key("Reason"),
    conf_key("State"),
};

constexpr ConfKey kPowerActionRows[] = {
    conf_key("Location", kChoice).of("slurmctld,slurmd").from(2605),
    conf_key("Program", kPath).from(2605),
};

constexpr ConfKey kFrontendRows[] = {
    conf_key("AllowGroups").till(2411),  conf_key("AllowUsers").till(2411),
    conf_key("DenyGroups").till(2411),   conf_key("DenyUsers").till(2411),
    conf_key("FrontendAddr").till(2411), conf_key("Port", kUint16).till(2411),
    conf_key("Reason").till(2411),       conf_key("State").till(2411),
};

}  // namespace

constinit const std::span<const ConfKey> kNode = kNodeRows;
constinit const std::span<const ConfKey> kPartition = kPartitionRows;
constinit const std::span<const ConfKey> kNodeSet = kNodeSetRows;
constinit const std::span<const ConfKey> kDownNodes = kDownNodesRows;
constinit const std::span<const ConfKey> kPowerAction = kPowerActionRows;
constinit const std::span<const ConfKey> kFrontend = kFrontendRows;

}  // namespace mainspring::slurm::tables
