#include "bridge/translate/demand.h"

#include <gtest/gtest.h>

namespace mainspring::bridge {
namespace {

slurm::Node idle_node() {
  slurm::Node node;
  node.name = "n1";
  node.state = slurm::NodeState::Base::kIdle;
  node.cpus = 8;
  node.threads = 1;
  node.real_memory = 16000;
  node.gres = "gpu:4";
  return node;
}

slurm::JobRequest request(int cpus, int memory) {
  slurm::JobRequest request;
  request.cpus_per_task = cpus;
  request.memory_per_node = memory;
  return request;
}

std::int64_t until_full(const slurm::JobRequest& wants, const slurm::JobRequest& before,
                        const slurm::Node& node = idle_node()) {
  Demand many = Demand::of(before);
  many.nodes = 100;
  return many.until_full(NodeRoom(wants), node, {});
}

TEST(Demand, LeavesNoRoomOnceTheScarcestIsTaken) {
  EXPECT_EQ(until_full(request(1, 1000), request(1, 1000)), 8);
  EXPECT_EQ(until_full(request(2, 1000), request(3, 1000)), 3);
  EXPECT_EQ(until_full(request(1, 1000), request(1, 8000)), 2);
  slurm::JobRequest gpus = request(1, 1000);
  gpus.tres_per_node = "gres/gpu=2";
  EXPECT_EQ(until_full(gpus, gpus), 2);
}

TEST(Demand, OfWholeNodesLeavesNoRoomAtOnce) {
  slurm::JobRequest whole = request(1, 1000);
  whole.shared = {"none"};
  EXPECT_EQ(until_full(request(1, 1000), whole), 1);
  EXPECT_EQ(until_full(whole, request(1, 1000)), 1);
  slurm::JobRequest all_memory = request(1, 1000);
  all_memory.memory_per_node = slurm::Number();
  EXPECT_EQ(until_full(request(1, 1000), all_memory), 1);
}

TEST(Demand, TakesWholeCores) {
  slurm::Node node = idle_node();
  node.threads = 2;
  EXPECT_EQ(until_full(request(1, 1000), request(1, 1000), node), 4);
}

TEST(Demand, IsCountedAsFarAsItMatters) {
  const NodeRoom room(request(1, 1000));
  EXPECT_EQ(Demand().until_full(room, idle_node(), {}), 1);
  EXPECT_EQ(Demand::of(request(1, 1000)).until_full(room, idle_node(), {}), 2);
  EXPECT_EQ(until_full(request(9, 1000), request(1, 1000)), 0);
}

TEST(Demand, LeavesRoomWhicheverNodesItGets) {
  Demand others;
  EXPECT_TRUE(others.leaves(2, {1, 1}));
  EXPECT_FALSE(others.leaves(3, {1, 1}));
  others.nodes = 4;
  EXPECT_TRUE(others.leaves(1, {3, 2}));
  EXPECT_FALSE(others.leaves(1, {2, 2}));
  EXPECT_TRUE(others.leaves(2, {5, 1, 1, 5}));
  EXPECT_FALSE(others.leaves(3, {5, 1, 1, 5}));
  EXPECT_TRUE(others.leaves(3, {5, 1, 5, 5}));
}

TEST(Demand, OfSeveralIsTheirNodesAndTheMostOfEach) {
  slurm::JobRequest gang = request(4, 1000);
  gang.minimum_nodes = 2;
  gang.maximum_nodes = 3;
  Demand all = Demand::of(gang);
  all.add(Demand::of(request(1, 8000)));
  EXPECT_EQ(all.nodes, 4);
  EXPECT_EQ(all.each.cpus, 4);
  EXPECT_EQ(all.each.memory, 8000);
}

}  // namespace
}  // namespace mainspring::bridge
