// slurm/node_request.cc
#include "slurm/node_request.h"

#include <algorithm>

#include "base/hostlist.h"
#include "base/text.h"
#include "slurm/request_body.h"

namespace mainspring::slurm {
namespace {

// Bytes that end a value of slurm.conf, begin a comment or continue a line.
bool is_safe(std::string_view value, std::string_view also_bad) {
  return std::none_of(value.begin(), value.end(), [&](char c) {
    return static_cast<unsigned char>(c) <= ' ' || c == 0x7F || c == '"' || c == '\'' ||
           c == '\\' || c == '#' || also_bad.find(c) != std::string_view::npos;
  });
}

class ConfLine {
 public:
  void add(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (!is_safe(value, "=")) return refuse(key, value);
    append(key, value);
  }
  // Commas and equal signs are part of it; quotes keep them together.
  void add_quoted(std::string_view key, std::string_view value) {
    if (value.empty()) return;
    if (!is_safe(value, "")) return refuse(key, value);
    append(key, '"' + std::string(value) + '"');
  }
  void add(std::string_view key, const std::optional<std::int64_t>& value) {
    if (value && *value < 0) return refuse(key, std::to_string(*value));
    if (value) append(key, std::to_string(*value));
  }
  Result<std::string> finish() && {
    if (error_) return fail(*std::move(error_));
    return std::move(text_);
  }

 private:
  void append(std::string_view key, std::string_view value) {
    if (!text_.empty()) text_ += ' ';
    text_ += key;
    text_ += '=';
    text_ += value;
  }
  void refuse(std::string_view key, std::string_view value) {
    if (error_) return;
    error_ = Error(Code::kInvalid, std::string(key) + ": " + quoted(value) +
                                       " cannot stand in slurm.conf; use no blanks, quotes, "
                                       "backslashes, '#' or '=', and no negative numbers");
  }

  std::string text_;
  std::optional<Error> error_;
};

std::string_view state_word(NodeSpec::Kind kind) {
  switch (kind) {
    case NodeSpec::Kind::kCloud:
      return "CLOUD";
    case NodeSpec::Kind::kFuture:
      return "FUTURE";
    case NodeSpec::Kind::kExternal:
      break;
  }
  return "External";
}

Result<void> check_name(const NodeSpec& spec) {
  MS_TRY(const std::vector<std::string> names,
         with_context(expand_hostlist(spec.name), "NodeName"));
  if (names.empty()) return fail(Code::kInvalid, "NodeName: a node needs a name");
  if (names.size() > 1 && !spec.gres_conf.empty()) {
    return fail(Code::kInvalid, "NodeName: " + quoted(spec.name) +
                                    " is more than one node, and Slurm gives GresConf to the "
                                    "first only; make them one by one");
  }
  return {};
}

}  // namespace

json::Value to_json(const NodeUpdate& update) {
  json::Value out = json::Value::object();
  if (update.state) {
    json::Value names = json::Value::array();
    for (const std::string_view name : update.state->names()) names.push_back(name);
    out.set("state", std::move(names));
  }
  add(out, "reason", update.reason);
  add(out, "comment", update.comment);
  add(out, "extra", update.extra);
  add(out, "features", update.features);
  add(out, "features_act", update.active_features);
  add(out, "gres", update.gres);
  add(out, "weight", update.weight);
  add(out, "topology_str", update.topology);
  if (update.address) add(out, "address", std::vector<std::string>{*update.address});
  if (update.hostname) add(out, "hostname", std::vector<std::string>{*update.hostname});
  add(out, "resume_after", update.resume_after);
  return out;
}

json::Value to_json(const NodeUpdate& update, const std::vector<std::string>& names) {
  json::Value out = to_json(update);
  out.set("name", strings_value(names));
  return out;
}

Result<std::string> node_conf(const NodeSpec& spec) {
  MS_CHECK(check_name(spec));
  ConfLine line;
  line.add("NodeName", spec.name);
  line.add("NodeAddr", spec.address);
  line.add("NodeHostname", spec.hostname);
  line.add("Port", spec.port);
  line.add("Boards", spec.boards);
  line.add("Sockets", spec.sockets);
  line.add("CoresPerSocket", spec.cores_per_socket);
  line.add("ThreadsPerCore", spec.threads_per_core);
  line.add("CPUs", spec.cpus);
  line.add("RealMemory", spec.real_memory);
  line.add("TmpDisk", spec.tmp_disk);
  line.add("Weight", spec.weight);
  line.add("State", state_word(spec.kind));
  line.add("Feature", join(spec.features, ","));
  line.add_quoted("Gres", spec.gres);
  line.add_quoted("GresConf", spec.gres_conf);
  line.add("Topology", spec.topology);
  return std::move(line).finish();
}

Result<json::Value> to_json(const NodeSpec& spec) {
  MS_TRY(const std::string conf, node_conf(spec));
  return json::Value::object({{"node_conf", conf}});
}

}  // namespace mainspring::slurm
