// tests/real/slurm_api.h
//
// What the cases of slurm_api.cc and slurm_accounting.cc share. They run on a cluster of dev/slurm
// with accounting and two nodes; on 26.05 also two external nodes with GPUs.
#pragma once

#include <gmock/gmock.h>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

#include "slurm/jobs.h"
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
  template <class T>
  T must(Task<Result<T>> task) {
    auto result = run(std::move(task));
    EXPECT_TRUE(result) << why(result);
    return result ? *std::move(result) : T{};
  }
  void must(Task<Result<void>> task) {
    const auto result = run(std::move(task));
    EXPECT_TRUE(result) << why(result);
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
    for (int i = 0; i < 600; ++i) {
      job = must(Jobs(client()).get(id));
      if ((job.state.*holds)()) return job;
      must(net::sleep(milliseconds(100)));
    }
    ADD_FAILURE() << "job " << id.text() << " is " << job.state.to_string();
    return job;
  }

  Peer peer_;
};

}  // namespace mainspring::slurm
