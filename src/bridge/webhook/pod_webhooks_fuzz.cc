// Users write pods, and the API server checks of them what its schema says and no more: annotations
// and amounts come as they are. Whatever comes: an answer, and a pod that we have taken over once
// stays as it is.
#include "bridge/webhook/pod_webhooks.h"

#include <cstddef>
#include <cstdint>
#include <string>

#include "bridge/webhook/admission.h"
#include "control/scripted_api.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  if (size == 0) return 0;
  const std::string object(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto parsed = json::parse(object);
  if (!parsed) return 0;
  const bool change = (data[0] & 1) != 0;
  const bool mutate = (data[0] & 2) != 0;

  control::ScriptedClient kube;
  bridge::BridgeConfig config;
  config.managed_namespaces = {"s"};
  if (parsed->is_object()) {
    const json::Value once = bridge::taken_over(*parsed, config);
    if (bridge::taken_over(once, config) != once) __builtin_trap();
    if (bridge::claim_of(*parsed, config) != bridge::PodClaim::kOther &&
        bridge::claim_of(once, config) != bridge::PodClaim::kOurs) {
      __builtin_trap();
    }
  }
  http::Router router;
  bridge::add_pod_webhooks(router, {.config = config, .own_user = "bridge", .client = kube.client});
  http::Request request;
  request.method = http::Method::kPost;
  request.url.path = mutate ? "/mutate--v1-pod" : "/validate--v1-pod";
  request.headers.set("Content-Type", "application/json");
  request.body =
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
      R"("name":"n","namespace":"s","operation":")" +
      std::string(change ? "UPDATE" : "CREATE") + R"(","object":)" + object +
      (change ? R"(,"oldObject":)" + object : std::string()) + "}}";
  const auto answer = kube.executor.run(router.handle(std::move(request)));
  if (!answer) __builtin_trap();
  if (answer->status == 200 && !json::parse(answer->body)) __builtin_trap();
  return 0;
}
