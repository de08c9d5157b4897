#include "kube/kubeconfig.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <utility>

#include "base/text.h"
#include "json/path.h"
#include "json/yaml.h"

namespace mainspring::kube {
namespace {

using json::Value;

constexpr std::string_view kExecExtension = "client.authentication.k8s.io/exec";

std::string_view kind_name(const Value& value) {
  switch (value.kind()) {
    case Value::Kind::kNull:
      return "nothing";
    case Value::Kind::kBool:
      return "a boolean";
    case Value::Kind::kInt:
    case Value::Kind::kUint:
    case Value::Kind::kDouble:
      return "a number";
    case Value::Kind::kString:
      return "a string";
    case Value::Kind::kArray:
      return "a list";
    case Value::Kind::kObject:
      return "a mapping";
  }
  return "something else";
}

// A place in the file. What is absent or null reads as empty; the first thing of a wrong kind is
// kept in `problem`, so that reading code needs no error handling of its own.
class Node {
 public:
  Node(const Value* value, std::string path, std::string* problem)
      : value_(value), path_(std::move(path)), problem_(problem) {}

  bool absent() const { return value_ == nullptr || value_->is_null(); }
  const std::string& path() const { return path_; }

  Node operator[](std::string_view key) const {
    std::string path = path_;
    json::append_key(path, key);
    if (absent()) return {nullptr, std::move(path), problem_};
    if (!value_->is_object()) refuse("a mapping");
    return {value_->find(key), std::move(path), problem_};
  }

  std::string text() const {
    if (absent()) return {};
    if (!value_->is_string()) refuse("a string");
    return std::string(value_->as_string().value_or(""));
  }
  Secret secret() const { return Secret(text()); }
  bool flag() const {
    if (absent()) return false;
    if (!value_->as_bool()) refuse("true or false");
    return value_->as_bool().value_or(false);
  }
  Value copy() const { return absent() ? Value() : *value_; }

  std::vector<Node> items() const {
    std::vector<Node> nodes;
    if (absent()) return nodes;
    if (!value_->is_array()) refuse("a list");
    for (const Value& item : *value_) {
      std::string path = path_;
      json::append_index(path, nodes.size());
      nodes.emplace_back(&item, std::move(path), problem_);
    }
    return nodes;
  }
  std::vector<std::string> texts() const {
    std::vector<std::string> result;
    for (const Node& item : items()) result.push_back(item.text());
    return result;
  }
  std::vector<std::pair<std::string, Node>> members() const {
    std::vector<std::pair<std::string, Node>> nodes;
    if (absent()) return nodes;
    if (!value_->is_object()) refuse("a mapping");
    for (const auto [key, member] : value_->members()) nodes.emplace_back(key, (*this)[key]);
    return nodes;
  }

  void refuse(std::string_view expected) const {
    if (!problem_->empty()) return;
    const bool quotes = expected == "a string" && (value_->is_number() || value_->as_bool());
    *problem_ = fmt::format("{}: expected {}, found {}{}", path_.empty() ? "the file" : path_,
                            expected, kind_name(*value_), quotes ? ": put it in quotes" : "");
  }
  void refuse_because(std::string_view why) const {
    if (problem_->empty()) *problem_ = fmt::format("{}: {}", path_, why);
  }

 private:
  const Value* value_;
  std::string path_;
  std::string* problem_;
};

class FileReader {
 public:
  explicit FileReader(const std::string& file)
      : folder_(std::filesystem::path(file).parent_path()) {}

  KubeconfigCluster cluster(const Node& node) const {
    KubeconfigCluster cluster;
    cluster.server = node["server"].text();
    cluster.ca_file = path(node["certificate-authority"]);
    cluster.ca_data = node["certificate-authority-data"].text();
    cluster.tls_server_name = node["tls-server-name"].text();
    cluster.insecure_skip_tls_verify = node["insecure-skip-tls-verify"].flag();
    cluster.proxy_url = node["proxy-url"].secret();
    for (const Node& item : node["extensions"].items()) {
      if (item["name"].text() == kExecExtension) cluster.exec_extension = item["extension"].copy();
    }
    return cluster;
  }

  KubeconfigUser user(const Node& node) const {
    KubeconfigUser user;
    user.cert_file = path(node["client-certificate"]);
    user.cert_data = node["client-certificate-data"].text();
    user.key_file = path(node["client-key"]);
    user.key_data = node["client-key-data"].secret();
    user.token = node["token"].secret();
    user.token_file = path(node["tokenFile"]);
    user.username = node["username"].text();
    user.password = node["password"].secret();
    user.impersonate = impersonation(node);
    if (const Node plugin = node["exec"]; !plugin.absent()) user.exec = exec(plugin);
    user.has_auth_provider = !node["auth-provider"].absent();
    return user;
  }

  static KubeconfigContext context(const Node& node) {
    return {node["cluster"].text(), node["user"].text(), node["namespace"].text()};
  }

 private:
  std::string resolved(std::string text) const {
    if (text.empty() || text.front() == '/' || folder_.empty()) return text;
    return (folder_ / text).lexically_normal().string();
  }
  std::string path(const Node& node) const { return resolved(node.text()); }

  static Impersonation impersonation(const Node& node) {
    Impersonation who;
    who.user = node["as"].text();
    who.uid = node["as-uid"].text();
    who.groups = node["as-groups"].texts();
    for (const auto& [key, values] : node["as-user-extra"].members()) {
      for (std::string& value : values.texts()) who.extra.emplace_back(key, std::move(value));
    }
    return who;
  }

  KubeconfigExec exec(const Node& node) const {
    KubeconfigExec exec;
    exec.plugin.command = node["command"].text();
    // A bare name is looked for in PATH.
    if (exec.plugin.command.find('/') != std::string::npos) {
      exec.plugin.command = resolved(std::move(exec.plugin.command));
    }
    exec.plugin.args = node["args"].texts();
    for (const Node& item : node["env"].items()) {
      exec.plugin.env.emplace_back(item["name"].text(), item["value"].text());
    }
    exec.plugin.api_version = node["apiVersion"].text();
    exec.plugin.install_hint = node["installHint"].text();
    exec.plugin.provide_cluster_info = node["provideClusterInfo"].flag();
    exec.interactive_mode = node["interactiveMode"].text();
    return exec;
  }

  std::filesystem::path folder_;
};

template <class T>
const Named<T>* find_named(const std::vector<Named<T>>& entries, std::string_view name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const Named<T>& entry) { return entry.name == name; });
  return found == entries.end() ? nullptr : &*found;
}

// A list of {name: ..., KEY: {...}}.
template <class T, class Read>
std::vector<Named<T>> read_named(const Node& list, std::string_view key, const std::string& file,
                                 Read read) {
  std::vector<Named<T>> entries;
  for (const Node& item : list.items()) {
    std::string name = item["name"].text();
    if (name.empty()) item.refuse_because("has no name");
    if (find_named(entries, name) != nullptr) {
      item.refuse_because(fmt::format("the name {} comes twice", mainspring::quoted(name)));
    }
    entries.push_back({std::move(name), read(item[key]), file});
  }
  return entries;
}

void check_kind(const Node& root) {
  const std::string kind = root["kind"].text();
  if (!kind.empty() && kind != "Config") {
    root["kind"].refuse_because(
        fmt::format("{} is no kubeconfig, which is a \"Config\"", mainspring::quoted(kind)));
  }
  const std::string version = root["apiVersion"].text();
  if (!version.empty() && version != "v1") {
    root["apiVersion"].refuse_because(
        fmt::format("{} is not known: use v1", mainspring::quoted(version)));
  }
}

template <class T>
void add_missing(std::vector<Named<T>>& into, std::vector<Named<T>>& from) {
  for (Named<T>& entry : from) {
    if (find_named(into, entry.name) == nullptr) into.push_back(std::move(entry));
  }
}

}  // namespace

Result<Kubeconfig> parse_kubeconfig(std::string_view text, const std::string& file) {
  auto value = json::parse_yaml(text);
  if (!value) return fail(std::move(value).error().with_context("kubeconfig " + file));
  std::string problem;
  const Node root(&*value, "", &problem);
  const FileReader reader(file);
  Kubeconfig found;
  found.file = file;
  check_kind(root);
  found.current_context = root["current-context"].text();
  found.clusters = read_named<KubeconfigCluster>(
      root["clusters"], "cluster", file, [&](const Node& node) { return reader.cluster(node); });
  found.users = read_named<KubeconfigUser>(root["users"], "user", file,
                                           [&](const Node& node) { return reader.user(node); });
  found.contexts =
      read_named<KubeconfigContext>(root["contexts"], "context", file, &FileReader::context);
  if (!problem.empty()) {
    return fail(Error(Code::kInvalid, std::move(problem)).with_context("kubeconfig " + file));
  }
  return found;
}

Kubeconfig merge_kubeconfigs(std::vector<Kubeconfig> files) {
  Kubeconfig merged;
  for (Kubeconfig& from : files) {
    merged.file += (merged.file.empty() ? "" : ":") + from.file;
    if (merged.current_context.empty()) merged.current_context = std::move(from.current_context);
    add_missing(merged.clusters, from.clusters);
    add_missing(merged.users, from.users);
    add_missing(merged.contexts, from.contexts);
  }
  return merged;
}

}  // namespace mainspring::kube
