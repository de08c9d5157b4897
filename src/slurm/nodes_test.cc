#include "slurm/nodes.h"

#include <gmock/gmock.h>

#include "slurm/api_testing.h"

namespace mainspring::slurm {
namespace {

using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

class NodesTest : public ApiTest {};

TEST_F(NodesTest, OneIsReadByItsName) {
  answer_as("node");
  const auto node = run(Nodes(client()).get("node1"));
  ASSERT_TRUE(node) << why(node);
  EXPECT_EQ(node->name, "node1");
  expect_asked_as("node");
}

TEST_F(NodesTest, OneThatSlurmDoesNotKnowIsNotFoundAlthoughItSays200) {
  answer_as("err_node404");
  EXPECT_EQ(code_of(run(Nodes(client()).get("nope"))), Code::kNotFound);
}

TEST_F(NodesTest, AListIsStreamedAndSaysHowFarItGoes) {
  answer_as("nodes");
  std::vector<std::string> names;
  const auto listed = run(Nodes(client()).list(
      [&](const std::shared_ptr<const Node>& node) { names.emplace_back(node->name.view()); }));
  ASSERT_TRUE(listed) << why(listed);
  EXPECT_THAT(names, UnorderedElementsAre("node1", "node2", "node3"));
  EXPECT_FALSE(listed->not_modified);
  EXPECT_GT(listed->last_update, 1794770000);
  expect_asked_as("nodes");
}

TEST_F(NodesTest, AListThatDidNotChangeKeepsItsPosition) {
  answer("", 304);
  const auto listed = run(Nodes(client()).list([](const auto&) { FAIL(); }, 1794771025));
  ASSERT_TRUE(listed) << why(listed);
  EXPECT_TRUE(listed->not_modified);
  EXPECT_EQ(listed->last_update, 1794771025);
  EXPECT_EQ(asked(), "GET /slurm/v0.0.45/nodes/?update_time=1794771025");
}

TEST_F(NodesTest, AnUpdateGivesTheNodeAsItIsThen) {
  answer_as("node_drain");
  answer_as("node_after_drain");
  NodeUpdate update;
  update.state = NodeState::Flag::kDrain;
  update.reason = "k8s: cordoned";
  update.comment = "hello";
  update.extra = R"({"x":1})";
  const auto node = run(Nodes(client()).update("node1", update));
  ASSERT_TRUE(node) << why(node);
  EXPECT_TRUE(node->state.is_drained());
  expect_asked_as("node_drain");
  EXPECT_EQ(asked(1), "GET /slurm/v0.0.45/node/node1");
}

TEST_F(NodesTest, AnUpdateThatChangedNothingIsAConflict) {
  answer();
  answer_as("node");
  const auto node = run(Nodes(client()).drain("node1", "maintenance"));
  EXPECT_EQ(code_of(node), Code::kConflict);
  EXPECT_THAT(why(node), HasSubstr("Slurm accepted the change of node node1"));
  EXPECT_THAT(why(node), HasSubstr("it is IDLE"));
}

TEST_F(NodesTest, ResumingWhatNeedsNoneIsGood) {
  answer_as("node_resume", 422);
  answer_as("node");
  const auto node = run(Nodes(client()).resume("node1"));
  ASSERT_TRUE(node) << why(node);
  expect_asked_as("node_resume");
}

TEST_F(NodesTest, ResumingWhatStaysDrainedIsNot) {
  answer_as("node_resume", 422);
  answer_as("node_after_drain");
  const auto node = run(Nodes(client()).resume("node1"));
  ASSERT_FALSE(node);
  EXPECT_TRUE(refused_with(node.error(), Errno::kInvalidNodeTransition));
}

TEST_F(NodesTest, ManyAreChangedInOneCall) {
  answer_as("nodes_bulk");
  NodeUpdate update;
  update.comment = "bulk";
  EXPECT_TRUE(run(Nodes(client()).update_many({"node2", "node3"}, update)));
  expect_asked_as("nodes_bulk");
  EXPECT_TRUE(run(Nodes(client()).update_many({}, update)));
  EXPECT_EQ(transport_.asked.size(), 1U);
}

NodeSpec gpu_node() {
  NodeSpec spec;
  spec.name = "ext5";
  spec.address = "127.0.0.5";
  spec.sockets = 1;
  spec.cores_per_socket = 16;
  spec.threads_per_core = 2;
  spec.cpus = 32;
  spec.real_memory = 128000;
  spec.features = {"k8s", "ext"};
  spec.gres = "gpu:h100:8";
  spec.gres_conf = "count=8,name=gpu,type=h100,file=/dev/nvidia[0-7]";
  return spec;
}

TEST_F(NodesTest, AnExternalNodeIsMade) {
  answer_as("newnode_external_addr");
  answer_as("node");
  const auto made = run(Nodes(client()).create(gpu_node()));
  ASSERT_TRUE(made) << why(made);
  EXPECT_EQ(made->size(), 1U);
  expect_asked_as("newnode_external_addr");
  EXPECT_EQ(asked(1), "GET /slurm/v0.0.45/node/ext5");
}

TEST_F(NodesTest, ANodeThatIsThereIsNotMadeAgain) {
  answer_as("newnode_dup", 422);
  EXPECT_EQ(code_of(run(Nodes(client()).create(gpu_node()))), Code::kAlreadyExists);
}

TEST_F(NodesTest, OlderVersionsCannotMakeNodesAndSaySo) {
  speak(Version::k43);
  const auto made = run(Nodes(client()).create(gpu_node()));
  EXPECT_EQ(code_of(made), Code::kUnsupported);
  EXPECT_THAT(why(made), HasSubstr("v0.0.44"));
  EXPECT_THAT(transport_.asked, ::testing::IsEmpty());
}

TEST_F(NodesTest, OneIsRemoved) {
  answer_as("node_delete_ext1");
  answer_as("err_nodedel", 422);
  EXPECT_TRUE(run(Nodes(client()).remove("ext1")));
  expect_asked_as("node_delete_ext1");
  EXPECT_EQ(code_of(run(Nodes(client()).remove("nope"))), Code::kNotFound);
}

}  // namespace
}  // namespace mainspring::slurm
