// The in-memory API server against the real one: the same random calls on both, seed by seed, and
// every answer and every watch event compared. The real one is right. Run by differential_test.py,
// which starts a control plane and says in the environment where it is.
//
// Usage: differential FIRST_SEED SEEDS STEPS
#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <map>
#include <regex>
#include <sstream>
#include <string>
#include <vector>

#include "base/random.h"
#include "base/text.h"
#include "http/client.h"
#include "json/value.h"
#include "net/event_loop.h"
#include "net/socket_network.h"
#include "net/tls.h"
#include "net/virtual_executor.h"
#include "net/wait.h"
#include "sim/kube_api.h"

namespace mainspring {
namespace {

using http::Method;
using http::Request;
using http::Response;
using json::Value;

constexpr std::string_view kMerge = "application/merge-patch+json";
constexpr std::string_view kJson = "application/json-patch+json";
constexpr std::string_view kStrategic = "application/strategic-merge-patch+json";
constexpr std::string_view kApply = "application/apply-patch+yaml";

std::string variable(const char* name) {
  const char* value = std::getenv(name);
  if (value == nullptr) {
    fmt::print(stderr, "{} is not set; run tests/real/differential_test.py instead\n", name);
    std::exit(2);
  }
  return value;
}

std::string contents(const std::string& path) {
  std::ostringstream text;
  text << std::ifstream(path).rdbuf();
  return text.str();
}

// One call, before it is known whom it is made to. "$rv" and "$uid" in the body stand for what that
// server said last about the object, "$start" in the path for the version at which the seed began.
struct Call {
  Method method = Method::kGet;
  std::string path;
  std::string body;
  std::string type = "application/json";
};

// Either server: sends, and gives answers a form in which two servers can be compared. What is
// chance or time (uids, versions) is numbered in the order of its appearance.
class Peer {
 public:
  virtual ~Peer() = default;
  virtual Result<Response> exchange(Request request) = 0;

  // Numbers what comes from here on anew.
  void start() { numbers_.clear(); }

  std::string ask(Call call) {
    replace(call.path, "$start", version_["/api/v1/namespaces"]);
    replace(call.body, "$rv", version_[call.path]);
    replace(call.body, "$uid", uid_[call.path]);
    Request request;
    request.method = call.method;
    request.url = *http::Url::parse(base_ + call.path);
    request.body = call.body;
    request.headers.set("User-Agent", "diff/1");
    if (!call.body.empty()) request.headers.set("Content-Type", call.type);
    const auto answer = exchange(std::move(request));
    if (!answer) return "no answer: " + answer.error().to_string();
    std::string text = fmt::format("{}\n", answer->status);
    for (const std::string_view line : split(answer->body, '\n')) {
      if (line.empty()) continue;
      auto body = json::parse(line);
      if (!body) {
        text += std::string(line) + "\n";
        continue;
      }
      remember(call.path, *body);
      normalise(*body);
      text += to_text(*body, {.indent = 1, .sort_keys = true}) + "\n";
    }
    return text;
  }

 protected:
  explicit Peer(std::string base) : base_(std::move(base)) {}

 private:
  static void replace(std::string& text, std::string_view from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }

  void remember(const std::string& path, const Value& body) {
    const Value* version = body.at_pointer("/metadata/resourceVersion");
    const Value* uid = body.at_pointer("/metadata/uid");
    if (version != nullptr) version_[path] = version->as_string().value_or("");
    if (uid != nullptr) uid_[path] = uid->as_string().value_or("");
  }

  std::string number(const char* what, std::string_view text) {
    auto& known = numbers_[what];
    const auto [it, added] = known.emplace(text, known.size() + 1);
    return fmt::format("<{} {}>", what, it->second);
  }

  // Some refusals end in a comparison of Go structs.
  static void cut_difference(Value& body) {
    const Value* message = body.find("message");
    if (message == nullptr) return;
    const std::string text(message->as_string().value_or(""));
    body["message"] = text.substr(0, text.find("\n@@"));
  }

  void normalise_status(Value& body) {
    Value* details = body.find("details");
    std::vector<std::string> causes;
    if (Value* list = details == nullptr ? nullptr : details->find("causes")) {
      for (Value& cause : *list) {
        cut_difference(cause);
        causes.push_back(to_text(cause, {.sort_keys = true}));
      }
      // Their order is that of a Go map, and some come twice.
      std::sort(causes.begin(), causes.end());
      causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
      *list = Value::array();
      for (const std::string& cause : causes) list->push_back(cause);
    }
    cut_difference(body);
    const Value* reason = body.find("reason");
    const Value* message = body.find("message");
    // Such messages list the causes, or quote a decoder.
    if (causes.size() > 1 || (reason != nullptr && *reason == Value("BadRequest"))) {
      body.erase("message");
    } else if (message != nullptr) {
      static const std::regex kUid("[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}");
      static const std::regex kVersion("record \\([0-9]+\\)|precondition \\([0-9]+\\)");
      std::string text(message->as_string().value_or(""));
      text = std::regex_replace(text, kUid, "<uid>");
      body["message"] = std::regex_replace(text, kVersion, "<version>");
    }
  }

  void normalise(Value& body) {
    if (body.find("kind") != nullptr && *body.find("kind") == Value("Status")) {
      normalise_status(body);
    }
    // A list's version is the whole server's, which others write to.
    if (body.find("items") != nullptr) body["metadata"].erase("resourceVersion");
    walk(body);
  }

  void walk(Value& value) {
    for (Value& item : value) walk(item);
    std::vector<std::string> names;
    for (const auto [name, member] : value.members()) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      Value& member = *value.find(name);
      const auto text = member.as_string();
      if (name == "managedFields") {
        normalise_managers(member);
      } else if (name == "uid" && text) {
        member = number("uid", *text);
      } else if (name == "resourceVersion" && text) {
        member = number("version", *text);
      } else if (name.ends_with("Timestamp") && text) {
        member = "<time>";
      } else if (name == "name" && text && text->starts_with("gen-")) {
        member = number("name", *text);
      } else {
        walk(member);
      }
    }
  }

  // Ordered by time in the first place, which may tick between two calls; and an apply that changes
  // nothing but ownership sometimes leaves it out.
  static void normalise_managers(Value& managers) {
    std::vector<std::string> texts;
    for (Value& manager : managers) {
      manager.erase("time");
      texts.push_back(to_text(manager, {.sort_keys = true}));
    }
    std::sort(texts.begin(), texts.end());
    managers = Value::array();
    for (const std::string& text : texts) managers.push_back(*json::parse(text));
  }

  std::string base_;
  std::map<std::string, std::string> version_;
  std::map<std::string, std::string> uid_;
  std::map<std::string, std::map<std::string, std::size_t, std::less<>>> numbers_;
};

class RealPeer final : public Peer {
 public:
  RealPeer(net::EventLoop& loop, http::Transport& transport)
      : Peer(variable("KUBE_URL")), loop_(loop), transport_(transport) {}
  Result<Response> exchange(Request request) override {
    return loop_.run(transport_.send(std::move(request)));
  }

 private:
  net::EventLoop& loop_;
  http::Transport& transport_;
};

class ModelPeer final : public Peer {
 public:
  explicit ModelPeer(std::uint64_t seed) : Peer("https://sim"), api_(executor_, {.seed = seed}) {}
  Result<Response> exchange(Request request) override {
    return executor_.run(api_.send(std::move(request)));
  }

 private:
  net::VirtualExecutor executor_;
  sim::KubeApi api_;
};

const char* const kDefinitions[] = {
    R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"widgets.diff.mainspring.dev"},"spec":{"group":"diff.mainspring.dev","scope":"Namespaced","names":{"plural":"widgets","kind":"Widget","singular":"widget","listKind":"WidgetList"},"versions":[{"name":"v1","served":true,"storage":true,"subresources":{"status":{},"scale":{"specReplicasPath":".spec.replicas","statusReplicasPath":".status.replicas"}},"schema":{"openAPIV3Schema":{"type":"object","required":["spec"],"properties":{"spec":{"type":"object","required":["color"],"properties":{"replicas":{"type":"integer","default":1,"minimum":0,"maximum":10},"color":{"type":"string","enum":["red","green","blue"]},"word":{"type":"string","minLength":2,"maxLength":8,"pattern":"^[a-z]+$"},"tags":{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set","maxItems":4},"ports":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["name"],"items":{"type":"object","required":["name"],"properties":{"name":{"type":"string"},"port":{"type":"integer"},"proto":{"type":"string","default":"TCP"}}}},"opts":{"type":"object","additionalProperties":{"type":"string"}},"raw":{"type":"object","x-kubernetes-preserve-unknown-fields":true},"list":{"type":"array","minItems":1,"items":{"type":"integer"}},"atom":{"type":"object","x-kubernetes-map-type":"atomic","properties":{"a":{"type":"string"},"b":{"type":"string"}}}}},"status":{"type":"object","properties":{"replicas":{"type":"integer"},"phase":{"type":"string"},"conditions":{"type":"array","x-kubernetes-list-type":"map","x-kubernetes-list-map-keys":["type"],"items":{"type":"object","required":["type"],"properties":{"type":{"type":"string"},"status":{"type":"string"}}}}}}}}}}]}})", R"({"apiVersion":"apiextensions.k8s.io/v1","kind":"CustomResourceDefinition","metadata":{"name":"gadgets.diff.mainspring.dev"},"spec":{"group":"diff.mainspring.dev","scope":"Namespaced","names":{"plural":"gadgets","kind":"Gadget","singular":"gadget","listKind":"GadgetList"},"versions":[{"name":"v1","served":true,"storage":true,"schema":{"openAPIV3Schema":{"type":"object","x-kubernetes-preserve-unknown-fields":true}}}]}})"};

struct Subject {
  const char* path;  // With {} for the namespace.
  const char* api_version;
  const char* kind;
};

constexpr Subject kSubjects[] = {
    {"/api/v1/namespaces/{}/configmaps", "v1", "ConfigMap"},
    {"/api/v1/namespaces/{}/secrets", "v1", "Secret"},
    {"/apis/coordination.k8s.io/v1/namespaces/{}/leases", "coordination.k8s.io/v1", "Lease"},
    {"/apis/apps/v1/namespaces/{}/controllerrevisions", "apps/v1", "ControllerRevision"},
    {"/api/v1/namespaces/{}/pods", "v1", "Pod"},
    {"/apis/diff.mainspring.dev/v1/namespaces/{}/widgets", "diff.mainspring.dev/v1", "Widget"},
    {"/apis/diff.mainspring.dev/v1/namespaces/{}/gadgets", "diff.mainspring.dev/v1", "Gadget"},
};

// Makes up the calls of one seed.
class Writer {
 public:
  Writer(std::uint64_t seed, std::string ns) : random_(seed), ns_(std::move(ns)) {}

  Call next() {
    const Subject& subject = kSubjects[random_.below(std::size(kSubjects))];
    const std::string all = fmt::format(fmt::runtime(subject.path), ns_);
    const std::string name = pick({"a", "b", "c"});
    const std::string one = all + "/" + name;
    const std::string manager = pick({"m1", "m2", "m3"});
    const std::string kind = subject.kind;
    switch (random_.below(14)) {
      case 0:
      case 1:
        return {Method::kPost, all, to_text(object(subject, name)), "application/json"};
      case 2:
        return {Method::kPost, all + pick({"?dryRun=All", "?fieldManager=m1"}),
                to_text(generated(subject)), "application/json"};
      case 3: {
        Value body = object(subject, name);
        const std::string version = pick({"", "$rv", "$rv", "1"});
        if (!version.empty()) body["metadata"]["resourceVersion"] = version;
        if (random_.below(6) == 0) body["metadata"]["uid"] = pick({"$uid", "other"});
        return {Method::kPut, one, to_text(body), "application/json"};
      }
      case 4:
      case 5:
        return {
            Method::kPatch, one + "?fieldManager=" + manager, to_text(fragment(subject)),
            std::string(kind != "Widget" && kind != "Gadget" && random_.below(2) == 0 ? kStrategic
                                                                                      : kMerge)};
      case 6:
        return {Method::kPatch, one, json_patch(), std::string(kJson)};
      case 7:
      case 8:
      case 9: {
        Value body = kind == "Pod" ? object(subject, name) : fragment(subject);
        body["apiVersion"] = subject.api_version;
        body["kind"] = subject.kind;
        body["metadata"]["name"] = name;
        // Refused with a sentence about Go types.
        if (const Value* replicas = body.at_pointer("/spec/replicas");
            replicas != nullptr && replicas->is_string()) {
          body["spec"].erase("replicas");
        }
        return {Method::kPatch, one + "?fieldManager=" + manager + pick({"", "", "&force=true"}),
                to_text(body), std::string(kApply)};
      }
      case 10: {
        const std::string body = pick({"", "", R"({"preconditions":{"uid":"$uid"}})",
                                       R"({"preconditions":{"uid":"other"}})",
                                       R"({"preconditions":{"resourceVersion":"1"}})",
                                       R"({"propagationPolicy":"Background"})"});
        return {Method::kDelete, one, body, "application/json"};
      }
      case 11:
        return {Method::kGet, random_.below(2) == 0 ? one : all + "?labelSelector=diff%3D1", "",
                ""};
      case 12:
        if (kind != "Widget") return {Method::kGet, all + "/" + name, "", ""};
        return {Method::kPatch, one + "/status", status_patch(), std::string(kMerge)};
      default:
        return {Method::kPatch, one,
                R"({"metadata":{"finalizers":)" +
                    pick({"null", R"(["x.dev/a"])", R"(["x.dev/a","x.dev/b"])"}) + "}}",
                std::string(kMerge)};
    }
  }

 private:
  std::string pick(std::initializer_list<const char*> choices) {
    return choices.begin()[random_.below(choices.size())];
  }

  Value labels() {
    Value made = Value::object({{"diff", "1"}});
    if (random_.below(2) == 0) made["x"] = pick({"1", "2"});
    return made;
  }

  Value object(const Subject& subject, const std::string& name) {
    Value made = fragment(subject);
    made["apiVersion"] = subject.api_version;
    made["kind"] = subject.kind;
    made["metadata"]["name"] = name;
    made["metadata"]["labels"] = labels();
    if (std::string_view(subject.kind) == "Pod") {
      made["spec"] = Value::object(
          {{"schedulerName", "none"},
           {"automountServiceAccountToken", false},
           {"containers", Value::array({Value::object({{"name", "c"}, {"image", "i:1"}})})}});
    }
    return made;
  }

  Value generated(const Subject& subject) {
    Value made = object(subject, "");
    made["metadata"].erase("name");
    made["metadata"]["generateName"] = "gen-";
    // Lists come in the order of names, which are chance here: keep these out of them.
    made["metadata"]["labels"] = Value::object({{"generated", "1"}});
    return made;
  }

  // Part of an object: what a patch or an apply carries.
  Value fragment(const Subject& subject) {
    Value made = Value::object({{"metadata", Value::object()}});
    const std::string_view kind = subject.kind;
    if (random_.below(2) == 0) made["metadata"]["labels"] = labels();
    if (random_.below(4) == 0) made["metadata"]["annotations"]["note"] = pick({"1", "2"});
    if (kind == "ConfigMap") {
      for (const char* key : {"a", "b", "c"}) {
        if (random_.below(2) == 0) made["data"][key] = pick({"1", "2"});
      }
    } else if (kind == "Secret") {
      for (const char* key : {"a", "b"}) {
        if (random_.below(2) == 0) made["data"][key] = pick({"MQ==", "Mg=="});
      }
    } else if (kind == "Lease") {
      made["spec"]["holderIdentity"] = pick({"x", "y"});
      if (random_.below(2) == 0) made["spec"]["leaseDurationSeconds"] = 1 + random_.below(3);
    } else if (kind == "ControllerRevision") {
      made["revision"] = 1 + random_.below(3);
      made["data"]["k"] = 1;
    } else if (kind == "Widget") {
      widget(made["spec"]);
    } else if (kind == "Gadget") {
      made["spec"][pick({"a", "b"})] = random_.below(3);
      if (random_.below(2) == 0) made["spec"]["deep"][pick({"a", "b"})] = random_.below(3);
      if (random_.below(2) == 0) made["spec"]["list"].push_back(random_.below(3));
    }
    return made;
  }

  void widget(Value& spec) {
    spec["color"] = pick({"red", "green", "blue", "blue", "pink"});
    if (random_.below(3) == 0) spec["replicas"] = random_.below(12);
    if (random_.below(4) == 0) spec["word"] = pick({"abc", "xyz", "A", "Abc", "abcdefghij"});
    if (random_.below(3) == 0) spec["tags"].push_back(pick({"p", "q", "r"}));
    if (random_.below(3) == 0) {
      spec["ports"].push_back(
          Value::object({{"name", pick({"x", "y"})}, {"port", random_.below(3)}}));
    }
    if (random_.below(3) == 0) spec["opts"][pick({"m", "n"})] = pick({"1", "2"});
    if (random_.below(4) == 0) spec["raw"]["z"]["q"] = random_.below(3);
    if (random_.below(4) == 0) spec["atom"][pick({"a", "b"})] = pick({"1", "2"});
    if (random_.below(5) == 0) spec["list"] = Value::array();
    if (random_.below(6) == 0) spec["unknown"] = 1;
    if (random_.below(8) == 0) spec["replicas"] = "many";
  }

  std::string json_patch() {
    return pick({R"([{"op":"add","path":"/metadata/annotations","value":{"p":"1"}}])",
                 R"([{"op":"remove","path":"/metadata/annotations"}])",
                 R"([{"op":"test","path":"/metadata/name","value":"a"}])",
                 R"([{"op":"replace","path":"/metadata/labels/x","value":"2"}])"});
  }

  std::string status_patch() {
    return pick({R"({"status":{"phase":"on"}})",
                 R"({"status":{"replicas":2},"spec":{"replicas":3}})", R"({"spec":{"replicas":4}})",
                 R"({"status":{"conditions":[{"type":"Ready","status":"True"}]}})"});
  }

  Random random_;
  std::string ns_;
};

bool compare(Peer& model, Peer& real, const Call& call, std::uint64_t seed, std::size_t step) {
  const std::string said = real.ask(call);
  const std::string modelled = model.ask(call);
  if (said == modelled) return true;
  fmt::print("seed {} step {}: {} {}\n{}\n--- kube-apiserver\n{}--- model\n{}", seed, step,
             http::to_string(call.method), call.path, call.body, said, modelled);
  return false;
}

void wait_until_found(Peer& real, const std::string& path, net::EventLoop& loop) {
  for (int i = 0; i < 100 && !real.ask({Method::kGet, path, "", ""}).starts_with("200"); ++i) {
    (void)loop.run(net::sleep(milliseconds(100)));
  }
}

bool run_seed(std::uint64_t seed, std::size_t steps, net::EventLoop& loop,
              http::Transport& client) {
  RealPeer real(loop, client);
  ModelPeer model(seed);
  const std::string ns = fmt::format("diff-{}", seed);
  const std::string body = R"({"metadata":{"name":")" + ns + "\"}}";
  for (const char* definition : kDefinitions) {
    const Call call{Method::kPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
                    definition, "application/json"};
    real.ask(call);
    model.ask(call);
  }
  for (const char* plural : {"widgets", "gadgets"}) {
    wait_until_found(real, fmt::format("/apis/diff.mainspring.dev/v1/{}", plural), loop);
  }
  real.ask({Method::kPost, "/api/v1/namespaces", body, "application/json"});
  model.ask({Method::kPost, "/api/v1/namespaces", body, "application/json"});
  wait_until_found(real, "/api/v1/namespaces/" + ns + "/serviceaccounts/default", loop);

  real.start();
  model.start();
  Writer writer(seed, ns);
  for (std::size_t step = 0; step < steps; ++step) {
    const Call call = writer.next();
    if (!compare(model, real, call, seed, step)) return false;
  }
  bool same = true;
  for (const Subject& subject : kSubjects) {
    const Call list{Method::kGet,
                    fmt::format(fmt::runtime(subject.path), ns) + "?labelSelector=diff%3D1", "",
                    ""};
    same = same && compare(model, real, list, seed, steps);
  }
  for (const std::size_t watched : {0u, 5u}) {
    const Call watch{Method::kGet,
                     fmt::format(fmt::runtime(kSubjects[watched].path), ns) +
                         "?watch=1&timeoutSeconds=1&labelSelector=diff%3D1&resourceVersion=$start",
                     "", ""};
    same = same && compare(model, real, watch, seed, steps);
  }
  real.ask({Method::kDelete, "/api/v1/namespaces/" + ns, "", ""});
  return same;
}

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
  for (std::uint64_t seed = first; seed < first + seeds; ++seed) {
    if (!run_seed(seed, steps, loop, client)) return 1;
  }
  fmt::print("{} seeds of {} calls: no difference\n", seeds, steps);
  return 0;
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
