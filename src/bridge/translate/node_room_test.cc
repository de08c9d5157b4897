#include "bridge/translate/node_room.h"

#include <gtest/gtest.h>

namespace mainspring::bridge {
namespace {

using slurm::NodeState;

slurm::Node node_in(NodeState state) {
  slurm::Node node;
  node.name = "n1";
  node.state = state;
  node.cpus = 8;
  node.real_memory = 16000;
  node.gres = "gpu:4";
  node.active_features = json::StringList{"fast"};
  return node;
}

slurm::JobRequest small() {
  slurm::JobRequest request;
  request.cpus_per_task = 2;
  request.memory_per_node = 4000;
  return request;
}

TEST(NodeRoom, AnIdleNodeHasRoomForWhatItCouldHold) {
  const slurm::Node idle = node_in(NodeState::Base::kIdle);
  slurm::JobRequest request = small();
  EXPECT_TRUE(NodeRoom(request).is_now(idle));
  request.shared = {"none"};
  request.tasks_per_node = 4;
  EXPECT_TRUE(NodeRoom(request).is_now(idle));
  request.tasks_per_node = 5;
  EXPECT_FALSE(NodeRoom(request).could_be(idle));
  EXPECT_FALSE(NodeRoom(request).is_now(idle));
  request = small();
  request.excluded_nodes = {"n[1-3]"};
  EXPECT_FALSE(NodeRoom(request).is_now(idle));
  request = small();
  request.memory_per_node = 16001;
  EXPECT_FALSE(NodeRoom(request).could_be(idle));
  request = small();
  request.tres_per_node = "gres/gpu=5";
  EXPECT_FALSE(NodeRoom(request).could_be(idle));
  EXPECT_FALSE(NodeRoom(small()).is_now(
      node_in(NodeState(NodeState::Base::kIdle, {NodeState::Flag::kDrain}))));
}

TEST(NodeRoom, OfANodeInUseThereIsWhatOthersLeave) {
  slurm::Node mixed = node_in(NodeState::Base::kMixed);
  mixed.alloc_cpus = 6;
  mixed.alloc_memory = 12000;
  mixed.gres_used = "gpu:3(IDX:0-2)";
  slurm::JobRequest request = small();
  EXPECT_TRUE(NodeRoom(request).is_now(mixed));
  EXPECT_FALSE(NodeRoom(request).is_now(node_in(NodeState::Base::kAllocated)));
  request.tres_per_node = "gres/gpu=1";
  EXPECT_TRUE(NodeRoom(request).is_now(mixed));
  request.tres_per_node = "gres/gpu=2";
  EXPECT_TRUE(NodeRoom(request).could_be(mixed));
  EXPECT_FALSE(NodeRoom(request).is_now(mixed));
  request = small();
  request.cpus_per_task = 3;
  EXPECT_FALSE(NodeRoom(request).is_now(mixed));
  request = small();
  request.memory_per_node = 4001;
  EXPECT_FALSE(NodeRoom(request).is_now(mixed));
  request.memory_per_node = {};
  EXPECT_FALSE(NodeRoom(request).is_now(mixed)) << "it may get all of it";
  request = small();
  request.shared = {"none"};
  EXPECT_FALSE(NodeRoom(request).is_now(mixed)) << "it wants the node alone";
}

TEST(NodeRoom, WhatWasTakenSinceTheNodeWasReadIsNotThere) {
  const slurm::Node idle = node_in(NodeState::Base::kIdle);
  slurm::Job job;
  job.node_count = 2;
  job.cpus = 12;
  job.tres_allocated = "cpu=12,mem=24000M,node=2,gres/gpu=6";
  JustTaken taken;
  taken.add(job);
  slurm::JobRequest request = small();
  EXPECT_TRUE(NodeRoom(request).is_now(idle, taken));
  request.shared = {"none"};
  EXPECT_FALSE(NodeRoom(request).is_now(idle, taken)) << "it wants the node alone";
  request = small();
  request.cpus_per_task = 3;
  EXPECT_FALSE(NodeRoom(request).is_now(idle, taken));
  request = small();
  request.memory_per_node = 4001;
  EXPECT_FALSE(NodeRoom(request).is_now(idle, taken));
  request = small();
  request.tres_per_node = "gres/gpu=1";
  EXPECT_TRUE(NodeRoom(request).is_now(idle, taken));
  request.tres_per_node = "gres/gpu=2";
  EXPECT_FALSE(NodeRoom(request).is_now(idle, taken));
  // Beside what the record shows.
  slurm::Node mixed = node_in(NodeState::Base::kMixed);
  mixed.alloc_cpus = 1;
  EXPECT_FALSE(NodeRoom(small()).is_now(mixed, taken));
  // Of a job that says less, its processors are known.
  job.tres_allocated = {};
  taken = {};
  taken.add(job);
  EXPECT_EQ(taken.cpus, 6);
}

TEST(NodeRoom, WhatNodesDoNotShowIsNotThere) {
  const slurm::Node idle = node_in(NodeState::Base::kIdle);
  slurm::JobRequest request = small();
  request.constraints = "fast";
  EXPECT_TRUE(NodeRoom(request).is_now(idle));
  request.constraints = "slow";
  EXPECT_FALSE(NodeRoom(request).is_now(idle));
  request.constraints = "fast|slow";
  EXPECT_FALSE(NodeRoom(request).is_now(idle));
  EXPECT_TRUE(NodeRoom(request).could_be(idle)) << "Slurm knows";
  request = small();
  request.licenses = "matlab:1";
  EXPECT_FALSE(NodeRoom(request).is_now(idle));
  request = small();
  request.reservation = "lab";
  EXPECT_FALSE(NodeRoom(request).is_now(idle));
}

}  // namespace
}  // namespace mainspring::bridge
