#include "slurm/conf_hash.h"

#include <gtest/gtest.h>

namespace mainspring::slurm {
namespace {

// A slurm.conf that slurmctld 26.05.5 read, and what it showed as HashValue then.
constexpr std::string_view kConf = R"(ClusterName=hybrid
SlurmUser=slurm
SlurmctldHost=slurmctld(slurmctld.hybrid)
StateSaveLocation=/var/spool/slurmctld
SlurmdSpoolDir=/var/spool/slurmd
MaxNodeCount=16
AuthType=auth/slurm
CredType=cred/slurm
AuthInfo=use_client_ids
AuthAltTypes=auth/jwt
AuthAltParameters=jwt_key=/etc/slurm/jwt.key
SlurmctldParameters=enable_configless
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SlurmdParameters=config_overrides
SelectType=select/cons_tres
SchedulerParameters=batch_sched_delay=0,sched_min_interval=0
MpiDefault=none
ReturnToService=1
PartitionName=all Nodes=ALL Default=YES
)";

TEST(ConfHash, IsTheOneThatSlurmctldShows) {
  EXPECT_EQ(conf_hash(kConf), 1244590062U);
  EXPECT_EQ(conf_hash(""), 0U);
}

TEST(ConfHash, ChangesWithEveryCharacter) {
  EXPECT_NE(conf_hash("KillWait=30\n"), conf_hash("KillWait=31\n"));
  EXPECT_NE(conf_hash("KillWait=30\n"), conf_hash("KillWait=30\n#\n"));
}

TEST(ConfHash, IsNotKnownWhereTheTextAloneDoesNotSayIt) {
  EXPECT_FALSE(conf_hash("ClusterName=a\n  include more.conf\n"));
  EXPECT_TRUE(conf_hash("# include\n"));
  EXPECT_FALSE(conf_hash("# \xC3\xA9\n"));
}

}  // namespace
}  // namespace mainspring::slurm
