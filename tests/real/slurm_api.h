// tests/real/slurm_api.h
//
// What the cases of slurm_api.cc and slurm_accounting.cc share. They run on a cluster of dev/slurm
// with accounting and two nodes; on 26.05 also two external nodes with GPUs.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <utility>

#include "slurm/jobs.h"
#include "slurm/nodes.h"
#include "slurm_fixture.h"

namespace mainspring::slurm {

template <class T>
std::optional<Code> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code());
}

class SlurmApi : public ::testing::Test {
 protected:
  Client& client() { return *peer_.client; }
  bool is_new() const { return peer_.release == "26.05"; }
  template <class T>
  Result<T> run(Task<Result<T>> task) {
    return peer_.run(std::move(task));
  }
  // Ends the case where it fails: what follows would only say so again, or of a value that is none.
  template <class T>
  T must(Task<Result<T>> task) {
    auto result = run(std::move(task));
    if (!result) throw std::runtime_error(why(result));
    return *std::move(result);
  }
  void must(Task<Result<void>> task) {
    const auto result = run(std::move(task));
    if (!result) throw std::runtime_error(why(result));
  }

  // Until `holds`, on a machine that may be busy. Looks at least twice.
  template <class Holds>
  bool eventually(Holds holds) {
    const TimePoint end = peer_.loop.now() + minutes(3);
    while (!holds()) {
      if (peer_.loop.now() >= end) return holds();
      must(net::sleep(milliseconds(100)));
    }
    return true;
  }

  // Every case begins with two nodes that can take jobs: the one before may have reconfigured
  // slurmctld, or have had it ask slurmd whether it is well.
  void SetUp() override {
    for (const char* const name : {"node1", "node2"}) {
      Node node;
      const auto ready = [&] {
        node = must(Nodes(client()).get(name));
        return node.state.can_take_jobs();
      };
      ASSERT_TRUE(eventually(ready)) << name << " is " << node.state.to_string();
    }
  }

  std::int64_t unix_seconds() {
    return std::chrono::duration_cast<seconds>(peer_.loop.clock().wall_now().time_since_epoch())
        .count();
  }

  static JobRequest external_job() {
    JobRequest request;
    request.name = "conformance";
    request.partition = "external";
    request.nodes = "1";
    request.memory_per_node = 10;
    request.flags = {std::string(kExternalJobFlag)};
    return request;
  }
  static JobRequest batch_job() {
    JobRequest request;
    request.name = "batch";
    request.partition = "compute";
    request.memory_per_node = 10;
    request.current_working_directory = "/tmp";
    request.environment = {"PATH=/bin:/usr/bin"};
    request.script = "#!/bin/sh\nsleep 60\n";
    return request;
  }
  Job wait_until(JobId id, bool (JobState::*holds)() const) {
    Job job;
    const auto reached = [&] {
      job = must(Jobs(client()).get(id));
      return (job.state.*holds)();
    };
    if (!eventually(reached)) {
      ADD_FAILURE() << "job " << id.text() << " is " << job.state.to_string() << " for "
                    << job.reason.view();
    }
    return job;
  }

  Peer peer_;
};

}  // namespace mainspring::slurm
