// The in-memory API server against the real one: the same random calls on both, seed by seed, and
// every answer and every watch event compared. The real one is right. Run by kube_test.py,
// which starts a control plane and says in the environment where it is.
//
// Usage: differential FIRST_SEED SEEDS STEPS
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "http/client.h"
#include "json/value.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/task_group.h"
#include "net/tls.h"
#include "net/virtual_executor.h"
#include "net/wait.h"
#include "real/differential_calls.h"
#include "real/differential_peer.h"
#include "sim/kube_api.h"

namespace mainspring {
namespace {

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    fmt::print(stderr, "{} is not set; run tests/real/kube_test.py instead\n", name);
    std::exit(2);
  }
  return value;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

net::Task<Result<void>> send_into(http::Transport* transport, Request request,
                                  Result<Response>* answer) {
  *answer = co_await transport->send(std::move(request));
  co_return Result<void>();
}

class RealPeer final : public Peer {
 public:
  RealPeer(net::EventLoop& loop, http::Transport& transport)
      : Peer(variable("KUBE_URL")), loop_(loop), transport_(transport) {}
  std::vector<Result<Response>> exchange(std::vector<Request> requests) override {
    begin(std::move(requests));
    return end();
  }

  // The two halves of an exchange, for what takes a while: it goes on under other seeds' calls.
  void begin(std::vector<Request> requests) {
    answers_.assign(requests.size(), Result<Response>());
    for (std::size_t i = 0; i < requests.size(); ++i) {
      group_.spawn(send_into(&transport_, std::move(requests[i]), &answers_[i]));
    }
  }
  std::vector<Result<Response>> end() {
    (void)loop_.run(group_.join());
    return std::move(answers_);
  }

 private:
  net::EventLoop& loop_;
  http::Transport& transport_;
  std::vector<Result<Response>> answers_;
  net::TaskGroup group_{loop_};
};

class ModelPeer final : public Peer {
 public:
  explicit ModelPeer(std::uint64_t seed) : Peer("https://sim"), api_(executor_, {.seed = seed}) {}
  std::vector<Result<Response>> exchange(std::vector<Request> requests) override {
    std::vector<Result<Response>> answers;
    for (Request& request : requests) {
      answers.push_back(executor_.run(api_.send(std::move(request))));
    }
    return answers;
  }
  void settle() { executor_.advance(seconds(10)); }

 private:
  net::VirtualExecutor executor_;
  sim::KubeApi api_;
};

const char* const kDefinitions[] = {
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.diff.mainspring.dev"},"spec":{"group":"diff.mainspring.dev","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","singular":"widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},"schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["color"],"properties":{"replicas":{"type":"integer","default":1,"minimum":0,"maximum":10},"color":{"type":"string","enum":["red","green","blue"]},"word":{"type":"string","minLength":2,"maxLength":8,"pattern":"^[a-z]+$"},"tags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set","maxItems":4},"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer"},"proto":{"type":"string","default":"TCP"}}}},"opts":{"type":"object","additionalProperties":{"type":"string"}},"raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"list":{"type":"array","minItems":1,"items":{"type":"integer"}},"atom":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}},"status":{"type":"object","properties":{"replicas":{"type":"integer"},"phase":{"type":"string"},"conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object","required":["type"],"properties":{"type":{"type":"string"},"status":{"type":"string"}}}}}}}}}}]}})", R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.diff.mainspring.dev"},"spec":{"group":"diff.mainspring.dev","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget","singular":"gadget","listKind":"GadgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})"};

// One seed's run on both servers, in steps so that the waits of many are one. Each step ends at the
// first difference, which it prints.
class Run {
 public:
  Run(std::uint64_t seed, net::EventLoop& loop, http::Transport& client)
      : seed_(seed), loop_(loop), real_(loop, client), model_(seed) {}

  bool make_calls(std::size_t steps) {
    set_the_scene();
    Writer writer(seed_, ns_);
    for (std::size_t step = 0; step < steps; ++step) {
      where_ = fmt::format("step {}", step);
      if (!same({writer.next()})) return false;
    }
    where_ = "end";
    if (!same(lists()) || !same_creates() || !make_garbage()) return false;
    if (ends_namespace_ && !end_namespace()) return false;
    real_.begin(real_.requests_of(watches()));
    return true;
  }

  bool compare_watches() {
    where_ = "watches";
    const auto said = real_.texts_of(watches(), real_.end());
    return same(watches(), said, model_.ask_all(watches()));
  }

  bool compare_garbage() {
    where_ = "garbage";
    return same_in_the_end({Method::kGet, in_namespace("configmaps?labelSelector=gc%3D1"), "", ""});
  }

  bool compare_ending_namespace() {
    if (!ends_namespace_) return true;
    where_ = "ending namespace";
    const std::string maps = ended() + "/configmaps";
    if (!same_in_the_end({Method::kGet, maps + "/a", "", ""})) return false;
    const Call late{Method::kPost, maps, R"({"metadata":{"name":"c"}})", "application/json"};
    const Call release{Method::kPatch, maps + "/b", R"({"metadata":{"finalizers":null}})",
                       std::string(kMerge)};
    return same({late}) && same({release});
  }

  bool compare_ended_namespace() {
    if (!ends_namespace_) return true;
    where_ = "ended namespace";
    return same_in_the_end({Method::kGet, ended(), "", ""});
  }

  void clean() { real_.ask({Method::kDelete, "/api/v1/namespaces/" + ns_, "", ""}); }

 private:
  void set_the_scene() {
    for (const char* definition : kDefinitions) {
      ask_both({Method::kPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                definition, "application/json"});
    }
    for (const char* plural : {"widgets", "gadgets"}) {
      wait_for("200", fmt::format("/apis/diff.mainspring.dev/v1/{}", plural));
    }
    ask_both({Method::kPost, "/api/v1/namespaces", R"({"metadata":{"name":")" + ns_ + "\"}}",
              "application/json"});
    wait_for("200", "/api/v1/namespaces/" + ns_ + "/serviceaccounts/default");
    // A controller puts this into every namespace.
    wait_for("200", in_namespace("configmaps/kube-root-ca.crt"));
    model_.ask({Method::kPost, in_namespace("configmaps"),
                R"({"metadata":{"name":"kube-root-ca.crt"}})", "application/json"});
    start();
  }

  void start() {
    real_.start();
    model_.start();
  }

  void ask_both(const Call& call) {
    real_.ask(call);
    model_.ask(call);
  }

  void pause() { (void)loop_.run(net::sleep(milliseconds(100))); }

  void wait_for(std::string_view status, const std::string& path) {
    for (int i = 0; i < 100 && !real_.ask({Method::kGet, path, "", ""}).starts_with(status); ++i) {
      pause();
    }
  }

  bool same(const std::vector<Call>& calls) {
    const auto said = real_.ask_all(calls);
    return same(calls, said, model_.ask_all(calls));
  }

  bool same(const std::vector<Call>& calls, const std::vector<std::string>& said,
            const std::vector<std::string>& modelled) const {
    for (std::size_t i = 0; i < calls.size(); ++i) {
      if (said[i] == modelled[i]) continue;
      report(calls[i], said[i], modelled[i]);
      return false;
    }
    return true;
  }

  void report(const Call& call, const std::string& said, const std::string& modelled) const {
    fmt::print("seed {} {}: {} {}\n{}\n--- kube-apiserver\n{}--- model\n{}", seed_, where_,
               http::to_string(call.method), call.path, call.body, said, modelled);
  }

  // As `same`, once the controllers of the real one have done their part.
  bool same_in_the_end(const Call& call) {
    model_.settle();
    std::string said;
    std::string modelled;
    for (int i = 0; i < 300; ++i) {
      start();
      said = real_.ask(call);
      modelled = model_.ask(call);
      if (said == modelled) return true;
      pause();
    }
    report(call, said, modelled);
    return false;
  }

  std::string in_namespace(std::string_view plural) const {
    return fmt::format("/api/v1/namespaces/{}/{}", ns_, plural);
  }

  std::vector<Call> lists() const {
    std::vector<Call> calls;
    for (const Subject& subject : kSubjects) {
      calls.push_back({Method::kGet,
                       fmt::format(fmt::runtime(subject.path), ns_) + "?labelSelector=diff%3D1", "",
                       ""});
    }
    return calls;
  }

  std::vector<Call> watches() const {
    std::vector<Call> calls = lists();
    for (Call& call : calls) call.path += "&watch=1&timeoutSeconds=1&resourceVersion=$start";
    return calls;
  }

  // Kinds that controllers write to at once: only the answer to their creation is compared.
  bool same_creates() {
    const std::string budgets =
        fmt::format("/apis/policy/v1/namespaces/{}/poddisruptionbudgets", ns_);
    const std::string claims = in_namespace("persistentvolumeclaims");
    const std::string type = "application/json";
    return same(
               {{Method::kPost, budgets,
                 R"({"metadata":{"name":"b"},"spec":{"minAvailable":1,"selector":{"matchLabels":{"a":"1"}}}})",
                 type}}) &&
           same(
               {{Method::kPost, claims,
                 R"({"metadata":{"name":"v"},"spec":{"accessModes":["ReadWriteOnce"],"resources":{"requests":{"storage":"1Gi"}}}})",
                 type}}) &&
           same({{Method::kPost, in_namespace("services"),
                  R"({"metadata":{"name":"s"},"spec":{"ports":[{"port":80}]}})", type}}) &&
           same({{Method::kGet, in_namespace("services/s"), "", ""}}) &&
           same({{Method::kPost, in_namespace("serviceaccounts"), R"({"metadata":{"name":"x"}})",
                  type}});
  }

  Call make_owned(const std::string& name, std::initializer_list<const char*> owners, bool blocks) {
    const std::string maps = in_namespace("configmaps");
    std::string references;
    for (const char* owner : owners) {
      references += fmt::format(
          R"x({}{{"apiVersion":"v1","kind":"ConfigMap","name":"{}","uid":"$uid({}/{})"{}}})x",
          references.empty() ? "" : ",", owner, maps, owner,
          blocks ? R"(,"blockOwnerDeletion":true)" : "");
    }
    return {Method::kPost, maps,
            fmt::format(
                R"({{"metadata":{{"name":"{}","labels":{{"gc":"1"}},"ownerReferences":[{}]}}}})",
                name, references),
            "application/json"};
  }

  // top owns mid, mid owns low; top and other own both. Then top goes, one way or another.
  bool make_garbage() {
    Random random(seed_);
    const std::string maps = in_namespace("configmaps");
    const bool blocks = random.below(2) == 0;
    const auto learn = [&](const char* name) {
      return same({{Method::kGet, maps + "/" + name, "", ""}});
    };
    for (const char* name : {"top", "other"}) {
      if (!same({make_owned(name, {}, false)}) || !learn(name)) return false;
    }
    if (!same({make_owned("mid", {"top"}, blocks)}) || !learn("mid")) return false;
    if (!same({make_owned("low", {"mid"}, blocks)})) return false;
    if (!same({make_owned("both", {"top", "other"}, blocks)})) return false;
    const char* const policies[] = {"Background", "Foreground", "Orphan"};
    return same({{Method::kDelete, maps + "/top",
                  fmt::format(R"({{"propagationPolicy":"{}"}})", policies[seed_ % 3]),
                  "application/json"}});
  }

  // The namespace that is deleted with an object in it that has to wait.
  std::string ended() const { return "/api/v1/namespaces/" + ns_ + "-x"; }

  bool end_namespace() {
    const std::string type = "application/json";
    ask_both(
        {Method::kPost, "/api/v1/namespaces", R"({"metadata":{"name":")" + ns_ + "-x\"}}", type});
    for (const char* body : {R"({"metadata":{"name":"a"}})",
                             R"({"metadata":{"name":"b","finalizers":["x.dev/a"]}})"}) {
      if (!same({{Method::kPost, ended() + "/configmaps", body, type}})) return false;
    }
    return same({{Method::kDelete, ended(), "", ""}});
  }

  std::uint64_t seed_;
  net::EventLoop& loop_;
  RealPeer real_;
  ModelPeer model_;
  // Of its own for each run: namespaces take a while to go.
  std::string ns_ = fmt::format("diff-{}-{}", seed_, getpid());
  std::string where_;
  // Nothing about it depends on the seed, and it takes seconds.
  const bool ends_namespace_ = seed_ % 5 == 0;
};

int run(std::uint64_t first, std::uint64_t seeds, std::size_t steps) {
  net::EventLoop loop;
  net::SocketNetwork network(loop);
  net::TlsClientOptions tls;
  tls.ca_pem = contents(variable("KUBE_CA"));
  tls.cert_pem = contents(variable("KUBE_CERT"));
  tls.key_pem = contents(variable("KUBE_KEY"));
  http::Client::Options options;
  options.tls = *net::TlsContext::client(tls);
  http::Client client(loop, network, options);
  std::vector<std::unique_ptr<Run>> runs;
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    auto next = std::make_unique<Run>(seed, loop, client);
    if (next->make_calls(steps)) runs.push_back(std::move(next));
  }
  for (const auto compare : {&Run::compare_watches, &Run::compare_garbage,
                             &Run::compare_ending_namespace, &Run::compare_ended_namespace}) {
    std::erase_if(runs, [&](const auto& one) { return !(one.get()->*compare)(); });
  }
  for (const auto& one : runs) one->clean();
  const std::uint64_t different = seeds - runs.size();
  fmt::print("{} seeds of {} calls: {} with a difference\n", seeds, steps, different);
  return different == 0 ? 0 : 1;
}

}  // namespace
}  // namespace mainspring

int main(int argc, char** argv) {
  const auto number = [&](int index, std::uint64_t otherwise) {
    return argc > index ? mainspring::parse_integer<std::uint64_t>(argv[index]).value_or(otherwise)
                        : otherwise;
  };
  return mainspring::run(number(1, 1), number(2, 20), number(3, 60));
}
