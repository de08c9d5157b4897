// slurm/conf_keys_tables.h
//
// The tables behind slurm/conf_keys.h, each sorted by name without regard to case. Only for
// conf_keys*.cc. Where a choice came with a later release, ">" and the release stand behind it.
#pragma once

#include <string_view>

#include "slurm/conf_keys.h"

namespace mainspring::slurm::tables {

inline constexpr std::uint64_t kMaxNodes = 65'536;  // Slurm's own bound

inline constexpr std::string_view kDebugFlags =
    "Accrue,Agent,AuditRPCs,AuditTLS>2505,Backfill,BackfillMap,BurstBuffer,CPU_Bind,ConMgr,"
    "CpuFrequency,DBD_Agent,DB_Archive,DB_Assoc,DB_Event,DB_Job,DB_QOS,DB_Query,DB_Reservation,"
    "DB_Resource,DB_Step,DB_TRES,DB_Usage,DB_WCKey,Data,Dependency,Elasticsearch,Energy,Federation,"
    "GLOB_SILENCE,Gang,Gres,Hetjob,Interconnect,JAG,JobAccountGather,JobComp,JobContainer,License,"
    "MPI,Metrics>2511,NO_CONF_HASH,Namespace>2511,Net,NetRaw,Network,NetworkRaw,NodeFeatures,Power,"
    "PowerSave,Priority,Profile,Protocol,Reservation,Route,Sack,Script,SelectType,Steps,Switch,TLS,"
    "Task,TraceJobs,Trigger,Triggers,cgroup,thread>2605,threads>2605,workq,workqueue";

inline constexpr std::string_view kPreemptModes =
    "OFF,CANCEL,CLUSTER,GANG,ON,PRIORITY,REQUEUE,SUSPEND,WITHIN";

inline constexpr std::string_view kAutoDetect = "full,nrt,nvidia,nvml,off,oneapi,rsmi";

extern const std::span<const ConfKey> kSlurm;
extern const std::span<const ConfKey> kNode;
extern const std::span<const ConfKey> kPartition;
extern const std::span<const ConfKey> kNodeSet;
extern const std::span<const ConfKey> kDownNodes;
extern const std::span<const ConfKey> kPowerAction;
extern const std::span<const ConfKey> kFrontend;
extern const std::span<const ConfKey> kCgroup;
extern const std::span<const ConfKey> kGres;
extern const std::span<const ConfKey> kGresLine;
extern const std::span<const ConfKey> kDbd;

}  // namespace mainspring::slurm::tables
