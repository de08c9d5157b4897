// Several processes and one lease, in virtual time: each with a clock of its own rate and a network
// that delays, loses and refuses, some stopped and continued, some crashing. Whatever happens, no
// two may write at one time, and what arrives at the API was written by the holder of the lease.
#include "control/leader.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <deque>
#include <map>
#include <set>

#include "base/seeds_testing.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"
#include "net/wait.h"
#include "sim/kube_api.h"

namespace mainspring::sim {
namespace {

using control::LeaderElector;
using net::Task;
using ::testing::HasSubstr;

// The executor of one process: its clock runs at its own rate, and while it is stopped nothing of
// it runs, as under SIGSTOP.
class ProcessExecutor final : public net::Executor {
  struct State {
    bool stopped = false;
    std::deque<Action> held;
  };
  class RatedClock final : public Clock {
   public:
    RatedClock(const Clock& world, double rate) : world_(world), rate_(rate) {}
    TimePoint now() const override {
      const auto elapsed = static_cast<double>(world_.now().time_since_epoch().count());
      return TimePoint(Duration(static_cast<Duration::rep>(elapsed * rate_)));
    }
    WallTime wall_now() const override { return world_.wall_now(); }
    Duration in_world(Duration mine) const {
      return Duration(static_cast<Duration::rep>(static_cast<double>(mine.count()) / rate_) + 1);
    }

   private:
    const Clock& world_;
    double rate_;
  };

 public:
  ProcessExecutor(net::VirtualExecutor& world, double rate)
      : world_(world), clock_(world.clock(), rate) {}
  ~ProcessExecutor() override {
    for (const auto& [id, timer] : timers_) world_.drop_timer(timer);
  }

  const Clock& clock() const override { return clock_; }
  void post(Action action) override {
    world_.post([state = std::weak_ptr(state_), action = std::move(action)] {
      if (const auto alive = state.lock()) run(*alive, action);
    });
  }
  TimerId run_at(TimePoint due, Action action) override {
    const TimerId id{++last_};
    const TimePoint at = world_.now() + clock_.in_world(std::max(due - now(), Duration(0)));
    timers_[id] = world_.run_at(at, [this, id, action = std::move(action)]() mutable {
      timers_.erase(id);
      fired_.insert(id);
      run(*state_, [this, id, action = std::move(action)] {
        if (fired_.erase(id) > 0) action();
      });
    });
    return id;
  }
  void drop_timer(TimerId id) override {
    fired_.erase(id);
    const auto it = timers_.find(id);
    if (it == timers_.end()) return;
    world_.drop_timer(it->second);
    timers_.erase(it);
  }

  void stop() { state_->stopped = true; }
  void go_on() {
    state_->stopped = false;
    for (Action& action : std::exchange(state_->held, {})) post(std::move(action));
  }
  bool stopped() const { return state_->stopped; }

 private:
  static void run(State& state, Action action) {
    if (state.stopped) {
      state.held.push_back(std::move(action));
    } else {
      action();
    }
  }

  net::VirtualExecutor& world_;
  RatedClock clock_;
  std::shared_ptr<State> state_ = std::make_shared<State>();
  std::map<TimerId, TimerId> timers_;
  std::set<TimerId> fired_;
  std::uint64_t last_ = 0;
};

// The way from one process to the API. What was sent arrives, also when the sender no longer waits;
// answers go back to who still does.
class Link final : public http::Transport {
 public:
  using Deliver = std::function<http::Response(const http::Request&)>;
  Link(net::VirtualExecutor& world, Random& random, Deliver deliver)
      : world_(world), random_(random), deliver_(std::move(deliver)) {}

  Task<Result<http::Response>> send(http::Request request) override {
    const Duration limit = request.limits.timeout.value_or(seconds(30));
    co_return co_await net::with_timeout(limit, "the call", exchange(std::move(request)));
  }
  Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request) override {
    co_return fail(Code::kUnsupported, "no streams");
  }
  Task<Result<http::Upgraded>> upgrade(http::Request) override {
    co_return fail(Code::kUnsupported, "no upgrades");
  }

  Duration delay_max = milliseconds(20);
  double lose = 0;    // Of requests and of answers.
  double refuse = 0;  // 429, or 500 without effect.
  bool cut = false;   // Nothing gets through.

 private:
  Duration some_delay() {
    return Duration(static_cast<Duration::rep>(
        random_.below(static_cast<std::uint64_t>(delay_max.count()) + 1)));
  }

  Task<Result<http::Response>> exchange(http::Request request) {
    const net::OneShot<http::Response> answered;
    if (!cut && random_.fraction() >= lose) {
      world_.run_at(world_.now() + some_delay(), [this, answered, request = std::move(request)] {
        http::Response response =
            random_.fraction() < refuse
                ? http::error_response(random_.below(2) == 0 ? 429 : 500, "no")
                : deliver_(request);
        if (cut || random_.fraction() < lose) return;
        world_.run_at(world_.now() + some_delay(),
                      [answered, response] { answered.set(response); });
      });
    }
    co_return co_await answered.wait();
  }

  net::VirtualExecutor& world_;
  Random& random_;
  Deliver deliver_;
};

constexpr const char* kMapPath = "/api/v1/namespaces/default/configmaps";

struct World;

struct Process {
  Process(World& in, std::string as, double rate);

  // Leads, writes as fast as it can, and ends well when told to.
  Task<Result<void>> live() {
    MS_CO_CHECK(co_await elector.acquire());
    net::TaskGroup writers(executor);
    writers.spawn(write_always());
    Result<void> ended = co_await elector.hold();
    if (ended.error().code() != Code::kCancelled) {
      lost = ended.error();
      co_return ended;
    }
    stopping = true;
    MS_CO_CHECK(co_await writers.join());
    co_return co_await elector.release();
  }
  Task<Result<void>> write_always() {
    const kube::RawApi maps(client, {"", "v1", "configmaps", "ConfigMap", true}, "default");
    for (int i = 0; !stopping; ++i) {
      json::Value patch;
      patch["data"]["writer"] = identity + std::to_string(i);
      (void)co_await maps.patch("log", {kube::PatchKind::kMerge, std::move(patch)}, {});
      MS_CO_CHECK(co_await net::sleep(milliseconds(300)));
    }
    co_return Result<void>();
  }
  void start() { life.spawn(live()); }
  bool may_write() const { return elector.may_write().has_value(); }

  std::string identity;
  ProcessExecutor executor;
  Link* link;  // The world's: what is under way outlives a process.
  kube::Client client;
  LeaderElector elector;
  bool stopping = false;
  std::optional<Error> lost;
  net::TaskGroup life{executor};
};

struct World {
  explicit World(std::uint64_t seed) : random(seed) {
    json::Value map = json::Value::object({{"apiVersion", "v1"}, {"kind", "ConfigMap"}});
    map["metadata"]["name"] = "log";
    map["metadata"]["namespace"] = "default";
    EXPECT_TRUE(api.add(std::move(map)).has_value());
  }

  Process& add(double rate = 1) {
    processes.push_back(std::make_unique<Process>(*this, fmt::format("p{}-", ++started), rate));
    processes.back()->start();
    return *processes.back();
  }
  std::string holder() const {
    const Object lease = api.find(kube::Lease::kResource, "default", "leader");
    if (!lease) return "";
    const json::Value* name = lease->at_pointer("/spec/holderIdentity");
    return name == nullptr ? "" : std::string(name->as_string().value_or(""));
  }
  Process* leader() {
    for (const auto& process : processes) {
      if (process->may_write()) return process.get();
    }
    return nullptr;
  }
  http::Response deliver(const std::string& from, const http::Request& request) {
    const bool is_write = request.url.path.starts_with(kMapPath);
    if (is_write) ++writes;
    check();
    if (is_write && holder() != from) {
      wrong.push_back(fmt::format("{} wrote while the lease was \"{}\"'s", from, holder()));
    }
    return api.answer(request);
  }
  void check() {
    std::string writers;
    int count = 0;
    for (const auto& process : processes) {
      if (!process->may_write()) continue;
      ++count;
      writers += process->identity + " ";
    }
    if (count > 1) wrong.push_back(writers + "may write at one time");
  }
  // By small steps, looking after each.
  void pass(Duration time) {
    for (Duration done{}; done < time; done += milliseconds(100)) {
      executor.advance(milliseconds(100));
      check();
    }
  }

  net::VirtualExecutor executor;
  KubeApi api{executor, {}};
  Random random;
  std::vector<std::unique_ptr<Link>> links;
  std::vector<std::unique_ptr<Process>> processes;
  std::vector<std::string> wrong;
  int started = 0;
  int writes = 0;
};

Process::Process(World& in, std::string as, double rate)
    : identity(std::move(as)),
      executor(in.executor, rate),
      link(in.links
               .emplace_back(std::make_unique<Link>(in.executor, in.random,
                                                    [&in, from = identity](const auto& request) {
                                                      return in.deliver(from, request);
                                                    }))
               .get()),
      client(*link, executor.clock(), in.random, {.server = *http::Url::parse("https://sim")}),
      elector(executor, client, in.random,
              {.ns = "default", .name = "leader", .identity = identity}) {
  client.set_may_write([this] { return elector.may_write(); });
}

TEST(Leader, TheFirstLeadsAndTheOthersWait) {
  World world(1);
  for (int i = 0; i < 3; ++i) {
    world.add();
    world.pass(seconds(1));
  }
  world.pass(minutes(5));
  EXPECT_TRUE(world.processes[0]->may_write());
  EXPECT_EQ(world.holder(), "p1-");
  EXPECT_EQ(world.processes[1]->elector.holder(), "p1-");
  EXPECT_GT(world.writes, 500);
  EXPECT_THAT(world.wrong, ::testing::IsEmpty());
}

TEST(Leader, ACrashIsTakenOverAfterTheLeaseHasRunOut) {
  World world(2);
  world.add();
  world.pass(seconds(5));
  world.add();
  world.pass(seconds(5));
  world.processes.erase(world.processes.begin());
  world.pass(seconds(12));
  EXPECT_EQ(world.leader(), nullptr) << "before the lease has run out";
  world.pass(seconds(8));
  EXPECT_EQ(world.leader(), world.processes[0].get());
  EXPECT_THAT(world.wrong, ::testing::IsEmpty());
}

TEST(Leader, ACleanEndHandsOverAtOnce) {
  World world(3);
  Process& first = world.add();
  world.pass(seconds(5));
  world.add();
  world.pass(seconds(5));
  first.life.cancel();
  world.pass(milliseconds(400));
  EXPECT_EQ(first.life.running(), 0u);
  EXPECT_EQ(world.holder(), "");
  world.pass(seconds(3));
  EXPECT_EQ(world.holder(), "p2-");
  EXPECT_THAT(world.wrong, ::testing::IsEmpty());
}

// The end cuts a renewal off whose answer is on the way: the lease has a version that nobody knows.
TEST(Leader, ACleanEndInTheMiddleOfARenewalReleasesToo) {
  for (int at = 0; at < 60; ++at) {
    World world(4);
    Process& only = world.add();
    only.link->delay_max = milliseconds(150);
    world.pass(seconds(10));
    world.executor.advance(milliseconds(40) * at);
    only.life.cancel();
    world.pass(seconds(2));
    EXPECT_EQ(world.holder(), "") << at;
  }
}

TEST(Leader, OutlivesAnOutageShorterThanItsDeadline) {
  World world(5);
  Process& first = world.add();
  world.pass(seconds(1));
  world.add();
  world.pass(seconds(10));
  for (const auto& link : world.links) link->cut = true;
  world.pass(seconds(6));
  EXPECT_TRUE(first.may_write());
  for (const auto& link : world.links) link->cut = false;
  world.pass(seconds(30));
  EXPECT_EQ(world.leader(), &first);
  EXPECT_FALSE(first.lost);
  EXPECT_THAT(world.wrong, ::testing::IsEmpty());
}

TEST(Leader, LosesTheLeaseInAnOutageLongerThanItsDeadline) {
  World world(6);
  Process& first = world.add();
  world.pass(seconds(10));
  first.link->cut = true;
  world.pass(seconds(11));
  EXPECT_FALSE(first.may_write());
  EXPECT_EQ(first.elector.may_write().error().code(), Code::kForbidden)
      << "a kConflict would be taken for done";
  world.pass(seconds(10));
  ASSERT_TRUE(first.lost);
  EXPECT_EQ(first.lost->code(), Code::kTimeout);
  EXPECT_THAT(first.lost->to_string(), HasSubstr("was not renewed within 10.0 s"));
}

TEST(Leader, OneThatWasStoppedWritesNothingWhenItGoesOn) {
  World world(7);
  Process& first = world.add();
  world.pass(seconds(1));
  world.add();
  world.pass(seconds(10));
  first.executor.stop();
  world.pass(seconds(25));
  EXPECT_EQ(world.holder(), "p2-");
  first.executor.go_on();
  world.pass(seconds(10));
  ASSERT_TRUE(first.lost);
  EXPECT_THAT(world.wrong, ::testing::IsEmpty());
}

TEST(Leader, SaysWhoTookTheLease) {
  World world(8);
  Process& first = world.add();
  world.pass(seconds(3));
  auto request = http::Request{.method = http::Method::kPatch};
  request.url =
      *http::Url::parse("https://sim/apis/coordination.k8s.io/v1/namespaces/default/leases/leader");
  request.headers.set("Content-Type", "application/merge-patch+json");
  request.body = R"({"spec":{"holderIdentity":"thief"}})";
  EXPECT_EQ(world.api.answer(request).status, 200);
  world.executor.advance(seconds(3));
  EXPECT_FALSE(first.may_write());
  ASSERT_TRUE(first.lost);
  EXPECT_EQ(first.lost->code(), Code::kConflict);
  EXPECT_THAT(first.lost->to_string(), HasSubstr("taken by thief"));
}

// One seed: a minute of trouble, then peace, in which somebody must lead.
std::string trouble(std::uint64_t seed) {
  World world(seed);
  Random chance(seed * 7919 + 1);
  const auto rate = [&] { return 0.9 + 0.2 * chance.fraction(); };
  for (int i = 0; i < 3; ++i) world.add(rate());
  // As the kubelet does.
  const auto restart_ended = [&] {
    const auto ended = std::erase_if(
        world.processes, [](const auto& process) { return process->life.running() == 0; });
    for (std::size_t i = 0; i < ended; ++i) world.add(rate());
  };
  for (int step = 0; step < 25; ++step) {
    world.pass(milliseconds(500) * static_cast<int>(1 + chance.below(8)));
    const std::size_t which = chance.below(world.processes.size());
    Process& process = *world.processes[which];
    switch (chance.below(8)) {
      case 0:
        process.link->cut = !process.link->cut;
        break;
      case 1:
        process.executor.stopped() ? process.executor.go_on() : process.executor.stop();
        break;
      case 2:
        process.link->delay_max = milliseconds(chance.below(800));
        process.link->lose = chance.fraction() / 3;
        process.link->refuse = chance.fraction() / 3;
        break;
      case 3:
        // What is under way arrives all the same; a new process comes in its place.
        world.processes.erase(world.processes.begin() + static_cast<std::ptrdiff_t>(which));
        world.add(rate());
        break;
      case 4:
        process.life.cancel();
        break;
      default:
        break;
    }
    restart_ended();
    if (!world.wrong.empty()) return fmt::format("seed {}: {}", seed, world.wrong.front());
  }
  for (const auto& link : world.links) {
    link->cut = false;
    link->lose = link->refuse = 0;
  }
  for (const auto& process : world.processes) process->executor.go_on();
  const int before = world.writes;
  for (int i = 0; i < 10; ++i) {
    world.pass(seconds(4));
    restart_ended();
  }
  if (!world.wrong.empty()) return fmt::format("seed {}: {}", seed, world.wrong.front());
  if (world.writes == before) return fmt::format("seed {}: nobody leads in the end", seed);
  return "";
}

TEST(Leader, NeverTwoThatWriteWhateverHappens) {
  for (std::uint64_t seed = 1; seed <= seeds(100); ++seed) ASSERT_EQ(trouble(seed), "");
}

TEST(Leader, TheSameSeedIsTheSameRun) {
  const auto run = [] {
    World world(9);
    for (int i = 0; i < 2; ++i) world.add().link->lose = 0.2;
    world.pass(minutes(2));
    return fmt::format("{} {}", world.writes, world.api.storage().version());
  };
  EXPECT_EQ(run(), run());
}

}  // namespace
}  // namespace mainspring::sim
