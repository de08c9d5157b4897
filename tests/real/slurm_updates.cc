// tests/real/slurm_updates.cc
//
// Every member of a job's update on a real slurmctld: where it says yes, the record that is read
// again says so too, in the way that slurm/job_written.cc compares them.
#include <functional>

#include "slurm_api.h"

namespace mainspring::slurm {
namespace {

class SlurmUpdates : public SlurmApi {
 protected:
  void SetUp() override {
    SlurmApi::SetUp();
    JobRequest request = batch_job();
    request.hold = true;
    id_ = must(Jobs(client()).submit(request)).job;
  }
  void TearDown() override { must(Jobs(client()).cancel(id_)); }

  using Set = std::function<void(JobRequest&)>;
  Result<Job> update(const Set& set) {
    JobRequest changes;
    set(changes);
    return run(Jobs(client()).update(id_, changes));
  }
  void change(const char* what, const Set& set) {
    Result<Job> changed = update(set);
    // slurmctld says "again" to some until slurmdbd has given the job its number.
    eventually([&] {
      if (code_of(changed) == Code::kTransient) changed = update(set);
      return code_of(changed) != Code::kTransient;
    });
    EXPECT_TRUE(changed) << what << ": " << why(changed);
  }

  JobId id_;
};

TEST_F(SlurmUpdates, TextsAndPathsAreReadAgain) {
  change("texts", [](JobRequest& job) {
    job.name = "other";
    job.comment = "c";
    job.admin_comment = "a";
    job.extra = "e";
    job.mail_user = "bob";
  });
  change("qos", [](JobRequest& job) { job.qos = "normal"; });
  change("wckey", [](JobRequest& job) { job.wckey = "w"; });
  change("paths", [](JobRequest& job) {
    job.current_working_directory = "/var/tmp";
    job.standard_output = "/var/tmp/out";
    job.standard_error = "/var/tmp/err";
    job.standard_input = "/dev/null";
  });
}

TEST_F(SlurmUpdates, SoIsTheSize) {
  change("nodes", [](JobRequest& job) { job.nodes = "1-2"; });
  change("minimum_nodes", [](JobRequest& job) { job.minimum_nodes = 2; });
  change("maximum_nodes", [](JobRequest& job) { job.maximum_nodes = 2; });
  change("node counts", [](JobRequest& job) {
    job.nodes = "2";
    job.minimum_nodes = 1;
    job.maximum_nodes = 2;
  });
  change("other node counts", [](JobRequest& job) {
    job.nodes = "1";
    job.minimum_nodes = 1;
    job.maximum_nodes = 2;
  });
  change("tasks", [](JobRequest& job) { job.tasks = 4; });
  change("tasks_per_node", [](JobRequest& job) { job.tasks_per_node = 2; });
  change("cpus_per_task", [](JobRequest& job) { job.cpus_per_task = 2; });
  change("minimum_cpus", [](JobRequest& job) { job.minimum_cpus = 4; });
  change("threads_per_core", [](JobRequest& job) { job.threads_per_core = 1; });
  change("memory_per_node", [](JobRequest& job) { job.memory_per_node = 20; });
  change("memory_per_cpu", [](JobRequest& job) { job.memory_per_cpu = 10; });
  if (!is_new()) return;  // It has no devices and no licences.
  change("devices", [](JobRequest& job) { job.tres_per_node = "gres/gpu:1"; });
  change("typed devices", [](JobRequest& job) { job.tres_per_node = "gres/gpu:h100:2"; });
  change("a licence", [](JobRequest& job) { job.licenses = "matlab"; });
  change("licences", [](JobRequest& job) { job.licenses = "matlab:2"; });
}

TEST_F(SlurmUpdates, AndThePlace) {
  change("partition", [](JobRequest& job) { job.partition = "all"; });
  change("partitions", [](JobRequest& job) { job.partition = "compute,all"; });
  change("constraints", [](JobRequest& job) { job.constraints = "compute"; });
  change("prefer", [](JobRequest& job) { job.prefer = "compute"; });
  change("nodes by name", [](JobRequest& job) {
    job.required_nodes = {"node1"};
    job.excluded_nodes = {"node2"};
  });
  change("required_switches", [](JobRequest& job) { job.required_switches = 1; });
  change("contiguous", [](JobRequest& job) { job.contiguous = true; });
}

TEST_F(SlurmUpdates, AndTheTime) {
  const std::int64_t later = unix_seconds() + 86400;
  change("time_limit", [](JobRequest& job) { job.time_limit = 20; });
  change("time_minimum", [](JobRequest& job) { job.time_minimum = 5; });
  change("begin_time", [&](JobRequest& job) { job.begin_time = later; });
  change("deadline", [&](JobRequest& job) { job.deadline = later + 86400; });
  change("nice", [](JobRequest& job) { job.nice = 7; });
  change("requeue", [](JobRequest& job) { job.requeue = false; });
  change("dependency", [&](JobRequest& job) { job.dependency = "singleton"; });
  change("dependency gone", [](JobRequest& job) { job.dependency = ""; });
  change("hold", [](JobRequest& job) { job.hold = true; });
}

TEST_F(SlurmUpdates, WhatSlurmctldAcceptsAndDoesNotDoIsAConflict) {
  const auto ignored = update([](JobRequest& job) { job.mcs_label = "m"; });
  EXPECT_EQ(code_of(ignored), Code::kConflict) << "there is no MCS plugin";
}

}  // namespace
}  // namespace mainspring::slurm
