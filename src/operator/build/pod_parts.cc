#include "operator/build/pod_parts.h"

#include "api/names.h"

namespace mainspring::op::build {
namespace {

using json::Value;

Value items_of(const std::vector<FileItem>& items) {
  Value list = Value::array();
  for (const FileItem& item : items) {
    Value& entry = list.push_back(Value::object({{"key", item.key}, {"path", item.path}}));
    if (item.mode != 0) entry.set("mode", item.mode);
  }
  return list;
}

}  // namespace

Labels daemon_labels(std::string_view app, std::string_view component, std::string_view instance) {
  return {{std::string(api::label::kName), std::string(app)},
          {std::string(api::label::kComponent), std::string(component)},
          {std::string(api::label::kInstance), std::string(instance)}};
}

Metadata workload_metadata(const kube::Meta& owner, const api::TemplateMeta& pod_template,
                           const Labels& ours) {
  Metadata metadata;
  add(metadata.annotations, owner.annotations);
  add(metadata.labels, owner.labels);
  add(metadata.annotations, pod_template.annotations);
  add(metadata.labels, pod_template.labels);
  for (const auto& [key, value] : ours) metadata.labels.insert_or_assign(key, value);
  return metadata;
}

std::string hash_of_text(std::string text) {
  return hash_of(std::map<std::string, std::string>{{"", std::move(text)}});
}

Value secret_source(std::string_view name, const std::vector<FileItem>& items) {
  return Value::object({{"secret", Value::object({{"name", name}, {"items", items_of(items)}})}});
}

Value config_map_source(std::string_view name, const std::vector<FileItem>& items) {
  return Value::object(
      {{"configMap", Value::object({{"name", name}, {"items", items_of(items)}})}});
}

Value projected_volume(std::string_view name, int mode, Value sources) {
  return Value::object(
      {{"name", name},
       {"projected", Value::object({{"defaultMode", mode}, {"sources", std::move(sources)}})}});
}

Value memory_volume(std::string_view name) {
  return Value::object({{"name", name}, {"emptyDir", Value::object({{"medium", "Memory"}})}});
}

Value mount(std::string_view volume, std::string_view path) {
  return Value::object({{"name", volume}, {"mountPath", path}});
}

Value read_only_mount(std::string_view volume, std::string_view path) {
  Value out = mount(volume, path);
  out.set("readOnly", true);
  return out;
}

Value tcp_port(std::string_view name, int port) {
  return Value::object({{"name", name}, {"containerPort", port}, {"protocol", "TCP"}});
}

Value tcp_probe(int port) {
  return Value::object({{"tcpSocket", Value::object({{"port", port}})}});
}

Value patient_tcp_probe(int port) {
  Value probe = tcp_probe(port);
  probe.set("periodSeconds", 10);
  probe.set("failureThreshold", 6);
  return probe;
}

Value run_as(int uid) {
  return Value::object({{"runAsNonRoot", true}, {"runAsUser", uid}, {"runAsGroup", uid}});
}

Value pod_template(const Metadata& metadata, Value spec) {
  return Value::object(
      {{"metadata", Value::object({{"labels", to_json(metadata.labels)},
                                   {"annotations", to_json(metadata.annotations)}})},
       {"spec", std::move(spec)}});
}

Value owned_object(std::string_view api_version, std::string_view kind, Value metadata) {
  return Value::object(
      {{"apiVersion", api_version}, {"kind", kind}, {"metadata", std::move(metadata)}});
}

}  // namespace mainspring::op::build
