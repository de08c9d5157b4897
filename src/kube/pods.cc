#include "kube/pods.h"

#include <fmt/format.h>

#include "json/value.h"
#include "kube/resource.h"
#include "kube/status.h"

namespace mainspring::kube {
namespace {

using json::Value;

Call pod_call(http::Method method, std::string_view verb, std::string_view ns, std::string_view pod,
              std::string_view subresource) {
  static const Resource kPods{"", "v1", "pods", "Pod", true};
  Call call;
  call.method = method;
  call.path = kPods.path(ns, pod, subresource);
  call.what = fmt::format("{} pod {}/{}", verb, ns, pod);
  return call;
}

Value metadata(std::string_view ns, std::string_view name) {
  return Value::object({{"name", name}, {"namespace", ns}});
}

Task<Result<void>> send_without_answer(Client* client, Call call) {
  MS_CO_CHECK(co_await client->send(std::move(call)));
  co_return Result<void>();
}

}  // namespace

Task<Result<void>> bind_pod(Client* client, std::string ns, std::string pod, std::string uid,
                            std::string node, BindOptions options) {
  // Without it the name alone decides, and names are used again.
  if (uid.empty()) co_return fail(Code::kInvalid, "binding needs the uid of pod " + pod);
  Value meta = metadata(ns, pod);
  meta.set("uid", uid);
  for (const auto& [key, value] : options.annotations) meta["annotations"].set(key, value);
  for (const auto& [key, value] : options.labels) meta["labels"].set(key, value);
  const Value binding = Value::object(
      {{"apiVersion", "v1"},
       {"kind", "Binding"},
       {"metadata", std::move(meta)},
       {"target", Value::object({{"apiVersion", "v1"}, {"kind", "Node"}, {"name", node}})}});
  Call call = pod_call(http::Method::kPost, "bind", ns, pod, "binding");
  if (options.dry_run) call.query.emplace_back("dryRun", "All");
  call.body = json::to_text(binding);
  co_return co_await send_without_answer(client, std::move(call));
}

Task<Result<void>> evict_pod(Client* client, std::string ns, std::string pod,
                             EvictOptions options) {
  Value removal = Value::object({{"apiVersion", "v1"}, {"kind", "DeleteOptions"}});
  if (options.grace_seconds) removal.set("gracePeriodSeconds", *options.grace_seconds);
  if (!options.uid.empty()) removal["preconditions"].set("uid", options.uid);
  if (options.dry_run) removal.set("dryRun", Value::array({"All"}));
  const Value eviction = Value::object({{"apiVersion", "policy/v1"},
                                        {"kind", "Eviction"},
                                        {"metadata", metadata(ns, pod)},
                                        {"deleteOptions", std::move(removal)}});
  Call call = pod_call(http::Method::kPost, "evict", ns, pod, "eviction");
  if (options.dry_run) call.query.emplace_back("dryRun", "All");
  call.retry_throttled = false;
  call.body = json::to_text(eviction);
  co_return co_await send_without_answer(client, std::move(call));
}

bool blocked_by_budget(const Error& error) {
  const Status* status = status_of(error);
  return status != nullptr && status->has_cause("DisruptionBudget");
}

Task<Result<std::unique_ptr<http::StreamingResponse>>> open_log(Client* client, std::string ns,
                                                                std::string pod,
                                                                LogOptions options) {
  Call call = pod_call(http::Method::kGet, "log of", ns, pod, "log");
  // Refusals are JSON and the log is text: a server asked for JSON alone still sends the text.
  call.accept = "*/*";
  const auto add_flag = [&call](const char* name, bool flag) {
    if (flag) call.query.emplace_back(name, "true");
  };
  const auto add_count = [&call](const char* name, std::optional<std::int64_t> count) {
    if (count) call.query.emplace_back(name, std::to_string(*count));
  };
  if (!options.container.empty()) call.query.emplace_back("container", options.container);
  add_flag("follow", options.follow);
  add_flag("previous", options.previous);
  add_flag("timestamps", options.timestamps);
  add_count("tailLines", options.tail_lines);
  add_count("limitBytes", options.limit_bytes);
  if (options.since) add_count("sinceSeconds", std::chrono::ceil<seconds>(*options.since).count());
  co_return co_await client->open(std::move(call));
}

}  // namespace mainspring::kube
