#include "slurm/conf_keys_tables.h"

namespace mainspring::slurm::tables {
namespace {

using enum ConfType;
using enum ConfUse;

constexpr ConfKey kCgroupRows[] = {
    conf_key("AllowedDevicesFile"),
    conf_key("AllowedRAMSpace", kFloat),
    conf_key("AllowedSwapSpace", kFloat),
    conf_key("CgroupAutomount", kBool).used(kIgnored),
    conf_key("CgroupJobIdPaths", kBool).from(2605),
    conf_key("CgroupMountpoint", kPath).or_ignored(),
    conf_key("CgroupPlugin", kChoice).of("autodetect,disabled,cgroup/v1,cgroup/v2"),
    conf_key("CgroupReleaseAgentDir").till(2505),
    conf_key("CgroupSlice").from(2511),
    conf_key("ConstrainCores", kBool),
    conf_key("ConstrainDevices", kBool),
    conf_key("ConstrainRAMSpace", kBool),
    conf_key("ConstrainSwapSpace", kBool),
    conf_key("EnableControllers", kBool),
    conf_key("EnableExtraControllers").from(2505),
    conf_key("IgnoreSystemd", kBool),
    conf_key("IgnoreSystemdOnFailure", kBool),
    conf_key("MaxRAMPercent", kFloat),
    conf_key("MaxSwapPercent", kFloat),
    conf_key("MemoryLimitEnforcement", kBool),
    conf_key("MemoryLimitThreshold", kFloat),
    conf_key("MemorySwappiness", kUint64),
    conf_key("MinRAMSpace", kUint64),
    conf_key("SignalChildrenProcesses", kBool),
    conf_key("SystemdTimeout", kUint64),
};

constexpr ConfKey kGresRows[] = {
    conf_key("AutoDetect", kPrefix).of(kAutoDetect).or_ignored(),
    conf_key("Name").used(kLine),
    conf_key("NodeName", kHosts).used(kLine).or_ignored(),
};

constexpr ConfKey kGresLineRows[] = {
    conf_key("AutoDetect", kPrefix).of(kAutoDetect).or_ignored(),
    conf_key("Cores"),
    conf_key("Count"),
    conf_key("CPUs").better("Cores"),
    conf_key("File", kHosts),
    conf_key("Files", kHosts),
    conf_key("Flags"),
    conf_key("Link"),
    conf_key("Links"),
    conf_key("MultipleFiles", kHosts),
    conf_key("Name"),
    conf_key("Type"),
};

constexpr ConfKey kDbdRows[] = {
    conf_key("AllowNoDefAcct", kBool),
    conf_key("AllResourcesAbsolute", kBool),
    conf_key("ArchiveDir", kPath),
    conf_key("ArchiveEvents", kBool),
    conf_key("ArchiveJobEnv", kBool).from(2605),
    conf_key("ArchiveJobs", kBool),
    conf_key("ArchiveJobScript", kBool).from(2605),
    conf_key("ArchiveResvs", kBool),
    conf_key("ArchiveScript", kPath),
    conf_key("ArchiveSteps", kBool),
    conf_key("ArchiveSuspend", kBool),
    conf_key("ArchiveTXN", kBool),
    conf_key("ArchiveUsage", kBool),
    conf_key("AuthAltParameters"),
    conf_key("AuthAltTypes", kPlugins).of("auth"),
    conf_key("AuthInfo"),
    conf_key("AuthType", kPlugin).of("auth"),
    conf_key("CommitDelay", kUint16),
    conf_key("CommunicationParameters"),
    conf_key("DbdAddr"),
    conf_key("DbdBackupHost"),
    conf_key("DbdHost"),
    conf_key("DbdPort", kUint16),
    conf_key("DebugFlags", kChoices).of(kDebugFlags),
    conf_key("DebugLevel", kLogLevel),
    conf_key("DebugLevelSyslog", kLogLevel),
    conf_key("DefaultQOS"),
    conf_key("DisableArchiveCommands", kBool).from(2511),
    conf_key("DisableCoordDBD", kBool),
    conf_key("DisableRollups", kBool).from(2605),
    conf_key("HashPlugin", kPlugin).of("hash"),
    conf_key("JobPurge", kUint32).better("PurgeJobAfter"),
    conf_key("LogFile", kPath).or_ignored(),
    conf_key("LogTimeFormat"),
    conf_key("MaxPurgeLimit", kUint32).from(2511),
    conf_key("MaxQueryTimeRange", kTime).or_ignored(),
    conf_key("MessageTimeout", kUint16),
    conf_key("Parameters"),
    conf_key("PidFile", kPath).or_ignored(),
    conf_key("PluginDir"),
    conf_key("PrivateData"),
    conf_key("PurgeEventAfter", kPeriod),
    conf_key("PurgeEventMonths", kUint32).better("PurgeEventAfter"),
    conf_key("PurgeJobAfter", kPeriod),
    conf_key("PurgeJobEnvAfter", kPeriod).from(2605),
    conf_key("PurgeJobMonths", kUint32).better("PurgeJobAfter"),
    conf_key("PurgeJobScriptAfter", kPeriod).from(2605),
    conf_key("PurgeResvAfter", kPeriod),
    conf_key("PurgeStepAfter", kPeriod),
    conf_key("PurgeStepMonths", kUint32).better("PurgeStepAfter"),
    conf_key("PurgeSuspendAfter", kPeriod),
    conf_key("PurgeSuspendMonths", kUint32).better("PurgeSuspendAfter"),
    conf_key("PurgeTXNAfter", kPeriod),
    conf_key("PurgeTXNMonths", kUint32).better("PurgeTXNAfter"),
    conf_key("PurgeUsageAfter", kPeriod),
    conf_key("PurgeUsageMonths", kUint32).better("PurgeUsageAfter"),
    conf_key("SlurmUser"),
    conf_key("StepPurge", kUint32).better("PurgeStepAfter"),
    conf_key("StorageBackupHost"),
    conf_key("StorageHost"),
    conf_key("StorageLoc"),
    conf_key("StorageParameters"),
    conf_key("StoragePass"),
    conf_key("StoragePassScript").from(2511),
    conf_key("StoragePort", kUint16),
    conf_key("StorageType", kPlugin).of("accounting_storage"),
    conf_key("StorageUser"),
    conf_key("TCPTimeout", kUint16),
    conf_key("TLSParameters"),
    conf_key("TLSType", kPlugin).of("tls"),
    conf_key("TrackSlurmctldDown", kBool),
    conf_key("TrackWCKey", kBool),
};

}  // namespace

constinit const std::span<const ConfKey> kCgroup = kCgroupRows;
constinit const std::span<const ConfKey> kGres = kGresRows;
constinit const std::span<const ConfKey> kGresLine = kGresLineRows;
constinit const std::span<const ConfKey> kDbd = kDbdRows;

}  // namespace mainspring::slurm::tables
