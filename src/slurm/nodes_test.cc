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

TEST_F(NodesTest, OneOfWhichNothingIsSaidIsNotGone) {
  for (const char* body : {kDone, R"({"nodes":null,"errors":[]})"}) {
    answer(body);
    EXPECT_EQ(code_of(run(Nodes(client()).get("node1"))), Code::kInternal) << body;
  }
  answer("", 304);
  EXPECT_EQ(code_of(run(Nodes(client()).get("node1"))), Code::kInternal);
  answer(R"({"nodes":[],"errors":[]})");
  EXPECT_EQ(code_of(run(Nodes(client()).get("node1"))), Code::kNotFound);
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

TEST_F(NodesTest, AnUpdateThatLeftDevicesOrTheHostAsTheyWereIsSeen) {
  const auto update = [this](const NodeUpdate& asked) {
    answer();
    answer(R"({"nodes":[{"name":"node1","hostname":"host1","gres":"gpu:h100:2(S:0-1),nic:1"}]})");
    return why(run(Nodes(client()).update("node1", asked)));
  };
  NodeUpdate asked;
  asked.gres = "nic:1,gpu:h100:2";
  asked.hostname = "host1";
  EXPECT_EQ(update(asked), "ok");
  asked.gres = "nic:1,gpu:h100:4";
  EXPECT_THAT(update(asked), HasSubstr("gres is 'gpu:h100:2(S:0-1),nic:1'"));
  asked.gres.reset();
  asked.hostname = "host2";
  EXPECT_THAT(update(asked), HasSubstr("hostname is 'host1'"));
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

TEST_F(NodesTest, ADrainForSomebodyElsesReasonIsNotOurs) {
  answer();
  answer_as("node_after_drain");
  EXPECT_THAT(why(run(Nodes(client()).drain("node1", "ours"))),
              HasSubstr("its reason is 'k8s: cordoned'"));
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

TEST_F(NodesTest, ManyAreChangedInOneCallAndReadAgain) {
  answer_as("nodes_bulk");
  answer(R"({"nodes":[{"name":"node2","comment":"bulk"}]})");
  answer(R"({"nodes":[{"name":"node3","comment":"bulk"}]})");
  NodeUpdate update;
  update.comment = "bulk";
  const auto changed = run(Nodes(client()).update_many({"node2", "node3"}, update));
  ASSERT_TRUE(changed) << why(changed);
  ASSERT_EQ(changed->size(), 2U);
  EXPECT_EQ((*changed)[1].name, "node3");
  expect_asked_as("nodes_bulk");
  EXPECT_EQ(asked(2), "GET /slurm/v0.0.45/node/node3");
  EXPECT_TRUE(run(Nodes(client()).update_many({}, update)));
  EXPECT_EQ(transport_.asked.size(), 3U);
}

TEST_F(NodesTest, ThoseOfManyThatDidNotChangeAreNamed) {
  answer();
  answer(R"({"nodes":[{"name":"node1","comment":"bulk"}]})");
  answer(R"({"nodes":[{"name":"node2","comment":"old"}]})");
  answer(R"({"nodes":[{"name":"node3","comment":""}]})");
  NodeUpdate update;
  update.comment = "bulk";
  const auto changed = run(Nodes(client()).update_many({"node1", "node2", "node3"}, update));
  EXPECT_EQ(code_of(changed), Code::kConflict);
  EXPECT_THAT(why(changed), HasSubstr("nodes node[2-3]"));
  EXPECT_THAT(why(changed), HasSubstr("of node2, comment is 'old'"));
}

TEST_F(NodesTest, ManyAreReadAgainByOneList) {
  std::vector<std::string> names;
  std::string list;
  for (int i = 40; i > 0; --i) {
    const std::string name = "n" + std::to_string(i);
    list += (list.empty() ? "" : ",") + (R"({"name":")" + name + R"(","weight":7})");
    if (i <= 30) names.insert(names.begin(), name);
  }
  answer();
  answer("{\"nodes\":[" + list + "]}");
  NodeUpdate update;
  update.weight = 7;
  const auto changed = run(Nodes(client()).update_many(names, update));
  ASSERT_TRUE(changed) << why(changed);
  ASSERT_EQ(changed->size(), 30U);
  EXPECT_EQ(changed->front().name, "n1");
  EXPECT_EQ(asked(1), "GET /slurm/v0.0.45/nodes/");

  answer();
  answer("{\"nodes\":[" + list + "]}");
  names.emplace_back("n99");
  EXPECT_EQ(code_of(run(Nodes(client()).update_many(names, update))), Code::kNotFound);
}

TEST_F(NodesTest, OlderVersionsCannotChangeTopologyAndSaySo) {
  speak(Version::k42);
  NodeUpdate update;
  update.topology = "topo-switch:s1";
  for (const auto& refused : {code_of(run(Nodes(client()).update("node1", update))),
                              code_of(run(Nodes(client()).update_many({"node1"}, update)))}) {
    EXPECT_EQ(refused, Code::kUnsupported);
  }
  EXPECT_THAT(transport_.asked, ::testing::IsEmpty());
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
