// Two bridges, of which one leads: what the other does when it takes over, with what it knew until
// then older than what the first did last. What must never happen is judged where it would
// (bridge_safety.h).
#include <optional>
#include <string>

#include "net/wait.h"
#include "sim/bridge_world.h"

namespace mainspring::sim {
namespace {

// The way of one of the two to a server. While it lags, nothing more comes of what it watches, nor
// any answer about the states of jobs; whatever is asked for otherwise is answered.
class LaggingWay final : public http::Transport {
 public:
  explicit LaggingWay(http::Transport& next) : next_(next) {}
  bool lags = false;
  bool deaf = false;  // Lists of jobs fail.

  http::Task<Result<http::Response>> send(http::Request request) override {
    const bool pulse = request.url.path.find("/jobs/state") != std::string::npos;
    while (pulse && lags) MS_CO_CHECK(co_await net::sleep(seconds(1)));
    co_return co_await next_.send(std::move(request));
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(
      http::Request request) override {
    const bool jobs = request.url.path.find("/jobs/") != std::string::npos;
    if (jobs && deaf) co_return fail(Code::kTransient, "cut by the test");
    const bool pulse = request.url.path.find("/jobs/state") != std::string::npos;
    while (pulse && lags) MS_CO_CHECK(co_await net::sleep(seconds(1)));
    const bool watch = request.url.target().find("watch=") != std::string::npos;
    MS_CO_TRY(auto stream, co_await next_.open(std::move(request)));
    if (!watch) co_return stream;
    std::unique_ptr<http::StreamingResponse> lagging =
        std::make_unique<Lagging>(std::move(stream), lags);
    co_return lagging;
  }
  http::Task<Result<http::Upgraded>> upgrade(http::Request request) override {
    return next_.upgrade(std::move(request));
  }

 private:
  struct Lagging final : http::StreamingResponse {
    Lagging(std::unique_ptr<http::StreamingResponse> from, const bool& is)
        : stream(std::move(from)), lags(is) {}
    int status() const override { return stream->status(); }
    const http::Headers& headers() const override { return stream->headers(); }
    http::Task<Result<std::string_view>> next_chunk() override {
      auto chunk = co_await stream->next_chunk();
      while (lags) MS_CO_CHECK(co_await net::sleep(seconds(1)));
      co_return chunk;
    }
    std::unique_ptr<http::StreamingResponse> stream;
    const bool& lags;
  };

  http::Transport& next_;
};

struct Replica {
  Replica(BridgeWorld& world, const std::string& name, std::uint64_t seed)
      : kube_door(world.safety.kube()),
        kube(kube_door),
        slurm_door(world.safety.slurm()),
        slurm(slurm_door),
        random(seed),
        client(kube, world.executor.clock(), random, {.server = *http::Url::parse("https://sim")}),
        manager(world.executor, client, random,
                {.name = "mainspring-bridge",
                 .instance = name,
                 .leader =
                     control::LeaderElector::Options{
                         .ns = "default", .name = "bridge", .identity = name}}),
        connection(slurm, world.executor, random, slurm_options(manager), bridge::slurm_following(),
                   bridge::slurm_budget()),
        all(manager, connection, world.options),
        life(world.executor, &stop) {
    life.spawn(manager.run());
  }
  static slurm::Client::Options slurm_options(control::Manager& manager) {
    slurm::Client::Options made =
        BridgeWorld::slurm_options({}, slurm::static_token(Secret("any")));
    made.may_write = manager.may_write();
    return made;
  }

  Interceptor kube_door;
  LaggingWay kube;
  Interceptor slurm_door;
  LaggingWay slurm;
  Random random;
  kube::Client client;
  control::Manager manager;
  slurm::Connection connection;
  bridge::Bridge all;
  net::CancelScope stop;
  net::TaskGroup life;
};

void let_pass(BridgeWorld& world, Duration time) {
  constexpr Duration kMoment = milliseconds(250);
  for (; time > Duration::zero() && world.safety.violation().empty(); time -= kMoment) {
    world.executor.advance(kMoment);
    world.kubelet.tick();
    world.safety.look(true, true);
  }
}

void put_pod(BridgeWorld& world, const std::string& name) {
  world.put(
      fmt::format("{{apiVersion: v1, kind: Pod, metadata: {{name: {}, namespace: default}}, spec: "
                  "{{schedulerName: slurm-bridge-scheduler, containers: [{{name: main, image: i, "
                  "resources: {{requests: {{cpu: '2', memory: 1Gi}}}}}}]}}}}",
                  name));
}

class BridgeTakeover : public ::testing::Test {
 protected:
  BridgeTakeover() {
    world.kube_faults.heal();
    world.slurm_faults.heal();
    world.kubelet.run_on();
    world.add_node("n0");
    first.emplace(world, "first", 5);
    pass(seconds(5));
    second.emplace(world, "second", 6);
    pass(seconds(20));
  }
  void TearDown() override { EXPECT_EQ(world.safety.violation(), "") << world.safety.account(); }

  void pass(Duration time) { let_pass(world, time); }
  Object pod(const std::string& name) {
    return world.api.find(kube::Pod::kResource, "default", name);
  }
  std::string node_of(const std::string& name) {
    return std::string(text_at(*pod(name), "/spec/nodeName"));
  }
  std::size_t jobs() { return world.slurm.model().jobs().size(); }
  // Both know the pod, and the first cannot ask Slurm for a job yet.
  void put_pod_that_waits(const std::string& name) {
    first->slurm_door.close(http::Method::kPost, "/job/", 503);
    put_pod(world, name);
    pass(seconds(2));
    ASSERT_EQ(jobs(), 0U) << world.safety.account();
  }
  // From here on the second hears nothing more of what happens.
  void second_lags() { second->kube.lags = second->slurm.lags = true; }
  void first_goes_on() {
    first->slurm_door.open_again();
    pass(seconds(40));
  }

  BridgeWorld world{1};
  std::optional<Replica> first, second;
};

TEST_F(BridgeTakeover, APodThatWasBoundJustBeforeGetsNoSecondJob) {
  put_pod_that_waits("p");
  second_lags();
  first_goes_on();
  ASSERT_NE(node_of("p"), "") << world.safety.account();
  ASSERT_EQ(jobs(), 1U);
  first->stop.cancel();
  pass(seconds(20));
  ASSERT_TRUE(second->manager.leading()) << world.safety.account();
  EXPECT_EQ(jobs(), 1U) << world.safety.account();
  EXPECT_EQ(world.slurm.model().job(1)->state, SlurmJob::State::kRunning);
}

TEST_F(BridgeTakeover, OneThatDiesBetweenTheJobAndTheMarkLeavesAJobThatIsFound) {
  put_pod_that_waits("p");
  second_lags();
  // The job is made, and nobody can be told of it any more.
  first->kube_door.close(http::Method::kPatch, "/pods/", 503);
  first->slurm_door.open_again();
  for (int i = 0; i < 100 && jobs() == 0; ++i) pass(milliseconds(250));
  ASSERT_EQ(jobs(), 1U) << world.safety.account();
  first.reset();
  pass(minutes(1));
  ASSERT_TRUE(second->manager.leading()) << world.safety.account();
  EXPECT_EQ(jobs(), 1U) << world.safety.account();
  second->kube.lags = second->slurm.lags = false;
  pass(minutes(1));
  EXPECT_EQ(node_of("p"), "n0") << world.safety.account();
  EXPECT_EQ(jobs(), 1U) << world.safety.account();
}

TEST_F(BridgeTakeover, ANodeThatWasDrainedJustBeforeByAPersonStaysSo) {
  second_lags();
  world.patch("/api/v1/nodes/n0", R"({"spec":{"unschedulable":true}})");
  pass(seconds(20));
  ASSERT_TRUE(world.slurm.model().node("n0")->drain) << world.safety.account();
  first->stop.cancel();
  pass(seconds(30));
  ASSERT_TRUE(second->manager.leading());
  EXPECT_TRUE(world.slurm.model().node("n0")->drain) << world.safety.account();
}

TEST_F(BridgeTakeover, OneThatTakesOverDecidesNothingWhileSlurmDoesNotAnswer) {
  put_pod_that_waits("p");
  first->stop.cancel();
  second->slurm.deaf = true;
  pass(minutes(1));
  ASSERT_TRUE(second->manager.leading());
  EXPECT_EQ(jobs(), 0U) << world.safety.account();
  second->slurm.deaf = false;
  pass(minutes(2));
  EXPECT_EQ(node_of("p"), "n0") << world.safety.account();
  EXPECT_EQ(jobs(), 1U);
}

}  // namespace
}  // namespace mainspring::sim
