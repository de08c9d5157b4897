#include "sim/safety.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "net/wait.h"
#include "sim/meta.h"
#include "sim/slurm_records.h"

namespace mainspring::sim {
namespace {

using http::Method;
using http::Request;
using http::Response;

constexpr std::string_view kOurs = "slurm-operator: ";
// Longer than a call takes on its way, shorter than anybody should rely on an answer.
constexpr Duration kRace = seconds(5);

// A body that is wholly here.
class Whole final : public http::StreamingResponse {
 public:
  explicit Whole(Response response) : response_(std::move(response)) {}
  int status() const override { return response_.status; }
  const http::Headers& headers() const override { return response_.headers; }
  http::Task<Result<std::string_view>> next_chunk() override {
    co_return std::exchange(sent_, true) ? std::string_view() : std::string_view(response_.body);
  }

 private:
  Response response_;
  bool sent_ = false;
};

// "slurm", "gpu-0" of ".../namespaces/slurm/pods/gpu-0"; nothing where it is another kind.
std::optional<std::pair<std::string, std::string>> pod_in(std::string_view path) {
  const auto parts = split(path, '/');
  if (parts.size() != 7 || parts[1] != "api" || parts[5] != "pods") return std::nullopt;
  return std::pair(std::string(parts[4]), std::string(parts[6]));
}

// "gpu-0" of "/slurm/v0.0.45/node/gpu-0".
std::string node_in(std::string_view path) {
  const auto parts = split(path, '/');
  return parts.size() >= 5 && parts[3] == "node" ? std::string(parts[4]) : std::string();
}

bool is_foreign(const SlurmNode& node) { return node.drain && !node.reason.starts_with(kOurs); }

// A job that is suspended is there too, though slurmctld calls its node idle.
bool has_job(const SlurmModel& model, const SlurmNode& node) {
  return std::any_of(model.jobs().begin(), model.jobs().end(), [&](const auto& each) {
    const SlurmJob& job = each.second;
    return !job.over() &&
           std::find(job.nodes.begin(), job.nodes.end(), node.name) != job.nodes.end();
  });
}

std::string state_of(const SlurmNode* node) {
  if (node == nullptr) return "unknown to Slurm";
  return fmt::format("{}{}{} jobs={} '{}'", node->down ? "DOWN" : "UP", node->drain ? "+DRAIN" : "",
                     node->responding ? "" : "*", node->running, node->reason);
}

}  // namespace

class Safety::KubeWire final : public http::Transport {
 public:
  explicit KubeWire(Safety& safety) : safety_(safety) {}
  http::Task<Result<Response>> send(Request request) override {
    if (request.method == Method::kGet) co_return co_await safety_.api_.send(std::move(request));
    const bool is_event = request.url.path.find("/events") != std::string::npos;
    // What became of a series of events is written down once more, minutes later.
    if (!is_event || request.method == Method::kPost) ++safety_.kube_writes;
    const std::string what =
        fmt::format("operator: {} {}", http::to_string(request.method), request.url.path);
    // Most of an apply is the same every time.
    const std::string body = request.body.substr(0, is_event ? 0 : 300);
    if (request.method == Method::kDelete) {
      if (const auto pod = pod_in(request.url.path)) {
        const auto options = json::parse(request.body);
        safety_.judge_deletion(pod->first, pod->second, options ? *options : json::Value());
      }
    }
    auto response = co_await safety_.api_.send(std::move(request));
    safety_.note(fmt::format("{} {} -> {}", what, body, response ? response->status : 0));
    if (safety_.after_write) safety_.after_write();
    co_return response;
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(Request request) override {
    return safety_.api_.open(std::move(request));
  }
  http::Task<Result<http::Upgraded>> upgrade(Request request) override {
    return safety_.api_.upgrade(std::move(request));
  }

 private:
  Safety& safety_;
};

class Safety::SlurmWire final : public http::Transport {
 public:
  explicit SlurmWire(Safety& safety) : safety_(safety) {}
  http::Task<Result<Response>> send(Request request) override {
    if (safety_.trouble.hangs) MS_CO_CHECK(co_await net::sleep(minutes(10)));
    const bool reads = request.method == Method::kGet;
    const bool reconfigures = request.url.path.ends_with("/reconfigure");
    const bool lists = reads && request.url.path.find("/nodes") != std::string::npos;
    const std::string path = request.url.path;
    const std::string node = node_in(path);
    if (!reads || reconfigures) {
      ++safety_.slurm_writes;
      const auto body = json::parse(request.body);
      const json::Value& change = body ? *body : json::Value();
      safety_.note(fmt::format("operator: slurm {} {} {} (is {})", http::to_string(request.method),
                               path, request.body,
                               state_of(safety_.slurm_api_.model().node(node))));
      if (!node.empty() && request.method == Method::kDelete) safety_.judge_node_deletion(node);
      if (!node.empty()) safety_.judge_node_write(node, change);
    }
    auto response = co_await safety_.slurm_api_.send(std::move(request));
    if (response && response->status == 200 && lists) co_return listed(*std::move(response));
    if (response && response->status == 200 && reads && !node.empty()) safety_.looked_at(node);
    co_return response;
  }
  http::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(Request request) override {
    MS_CO_TRY(Response whole, co_await send(std::move(request)));
    std::unique_ptr<http::StreamingResponse> body = std::make_unique<Whole>(std::move(whole));
    co_return body;
  }
  http::Task<Result<http::Upgraded>> upgrade(Request request) override {
    return safety_.slurm_api_.upgrade(std::move(request));
  }

 private:
  Response listed(Response response) {
    safety_.listed_ = true;
    if (safety_.trouble.empty_nodes) {
      json::Value none = json::Value::object({{"nodes", json::Value::array()}});
      none["last_update"] =
          slurm_number(std::chrono::duration_cast<seconds>(
                           safety_.executor_.clock().wall_now().time_since_epoch())
                           .count());
      constexpr int kVersion = 45;
      return slurm_answer(200, std::move(none), kVersion);
    }
    if (safety_.trouble.old_nodes && earlier_) return *earlier_;
    earlier_ = response;
    return response;
  }
  Safety& safety_;
  std::optional<Response> earlier_;
};

Safety::Safety(net::Executor& executor, KubeApi& kube, SlurmApi& slurm, Kubelet& kubelet)
    : executor_(executor),
      api_(kube),
      slurm_api_(slurm),
      kubelet_(kubelet),
      kube_(std::make_unique<KubeWire>(*this)),
      slurm_(std::make_unique<SlurmWire>(*this)) {
  kubelet_.on_going = [this](const json::Value& pod) { judge_going(pod); };
  kubelet_.on_note = [this](const std::string& line) { note(line); };
}
Safety::~Safety() = default;

http::Transport& Safety::kube() { return *kube_; }
http::Transport& Safety::slurm() { return *slurm_; }

void Safety::process_started() {
  listed_ = false;
  looks_.clear();
}

void Safety::note(const std::string& line) {
  const auto time = executor_.clock().now().time_since_epoch();
  account_.push_back(fmt::format("{:9.3f} {}", std::chrono::duration<double>(time).count(), line));
}

void Safety::violate(const std::string& what) {
  note("VIOLATION: " + what);
  if (violation_.empty()) violation_ = what;
}

std::string Safety::account() const {
  std::string text;
  for (const std::string& line : account_) text += line + "\n";
  return text;
}

std::optional<Safety::Look> Safety::recent_look(const std::string& node) const {
  const auto it = looks_.find(node);
  if (it == looks_.end() || executor_.clock().now() - it->second.at > kRace) return std::nullopt;
  return it->second;
}

void Safety::looked_at(const std::string& node) {
  ++slurm_looks[node];
  const SlurmNode* const found = slurm_api_.model().node(node);
  Look& look = looks_[node] = {executor_.clock().now()};
  if (found == nullptr) return;
  look.present = true;
  look.drained = found->drain && !has_job(slurm_api_.model(), *found);
  look.foreign = is_foreign(*found);
}

void Safety::judge_deletion(std::string_view ns, std::string_view name,
                            const json::Value& options) {
  const Object pod = api_.find({"", "v1", "pods", "Pod", true}, ns, name);
  if (!pod || is_being_deleted(*pod)) return;
  const std::string_view uid = text_at(options, "/preconditions/uid");
  const std::string_view version = text_at(options, "/preconditions/resourceVersion");
  const bool refused =
      (!uid.empty() && uid != uid_of(*pod)) || (!version.empty() && version != version_of(*pod));
  if (refused) return;
  deleted_by_call_.emplace(uid_of(*pod));
  if (reckless.contains(text_at(*pod, "/metadata/ownerReferences/0/uid"))) return;
  const std::string node(text_at(*pod, "/spec/hostname"));
  const SlurmNode* const now = slurm_api_.model().node(node);
  const std::string told = fmt::format("{} ({})", name, state_of(now));
  const auto look = recent_look(node);
  const bool runs = kubelet_.runs(uid_of(*pod));
  if (now != nullptr && has_job(slurm_api_.model(), *now) && !(look && look->drained)) {
    return violate("deletes a pod with a job: " + told);
  }
  if (!runs) return;
  if (!listed_) return violate("deletes a pod before it has a list of Slurm's nodes: " + told);
  if (!look) return violate("deletes a pod without having asked Slurm: " + told);
  if (look->present && !look->drained) violate("deletes a pod that was not drained: " + told);
}

void Safety::judge_going(const json::Value& pod) {
  if (deleted_by_call_.contains(uid_of(pod))) return;
  const std::string_view owner = text_at(pod, "/metadata/ownerReferences/0/uid");
  const Object nodeset =
      api_.find({"slinky.slurm.net", "v1beta1", "nodesets", "NodeSet", true}, namespace_of(pod),
                text_at(pod, "/metadata/ownerReferences/0/name"));
  // A person's doing, or its node's.
  if (nodeset && uid_of(*nodeset) == owner) return;
  if (reckless.contains(owner) || !kubelet_.runs(uid_of(pod))) return;
  violate(fmt::format("its NodeSet goes and takes {} with it", name_of(pod)));
}

void Safety::judge_node_deletion(const std::string& node) {
  const SlurmNode* const before = slurm_api_.model().node(node);
  if (before == nullptr) return;
  if (!recent_look(node)) violate(fmt::format("deletes the node {} without having asked", node));
  if (!before->down) violate(fmt::format("deletes the node {}, which is up", node));
}

void Safety::judge_node_write(const std::string& node, const json::Value& body) {
  const SlurmNode* const before = slurm_api_.model().node(node);
  if (before == nullptr) return;
  const json::Value* const states = body.find("state");
  const std::string state = states == nullptr ? "" : json::to_text(*states);
  const std::string_view reason = text_at(body, "/reason");
  const auto has = [&](std::string_view word) {
    return state.find(fmt::format("\"{}\"", word)) != std::string::npos;
  };
  const bool lifts = has("UNDRAIN") || has("RESUME");
  // Under another's reason, too.
  const bool ours = drains_.contains(node);
  if (has("DOWN")) violate(fmt::format("puts {} down", node));
  if (has("DRAIN")) drains_.insert(node);
  if (lifts) drains_.erase(node);
  const bool rewrites = !reason.empty() && reason != before->reason;
  if (!is_foreign(*before) || ours || (!lifts && !rewrites)) return;
  const auto look = recent_look(node);
  if (look && !look->foreign) return;
  violate(fmt::format("{} another's drain of {} ({})", lifts ? "lifts" : "rewrites", node,
                      state_of(before)));
}

bool Safety::drained_by_operator(const std::string& node) const { return drains_.contains(node); }
void Safety::administrator_drained(const std::string& node) { drains_.erase(node); }

}  // namespace mainspring::sim
