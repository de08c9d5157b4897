// Users write the objects that reach our webhooks, and the API server checks of them what the
// schema says and no more: containers, templates and services come as they are. Whatever comes: an
// answer.
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "control/scripted_api.h"
#include "operator/webhook/webhooks.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  constexpr std::array<std::string_view, 8> kPaths = {
      "/validate-slinky-slurm-net-v1beta1-controller",
      "/validate-slinky-slurm-net-v1beta1-nodeset",
      "/validate-slinky-slurm-net-v1beta1-loginset",
      "/validate-slinky-slurm-net-v1beta1-restapi",
      "/validate-slinky-slurm-net-v1beta1-accounting",
      "/validate-slinky-slurm-net-v1beta1-token",
      "/validate-config",
      "/mutate--v1-binding"};
  if (size == 0) return 0;
  const std::string object(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (!json::parse(object)) return 0;

  control::ScriptedClient kube;
  kube.api.otherwise = [&](const http::Request& request) {
    const bool list = request.url.path.ends_with("s");
    return http::json_response(200, list ? R"({"items":[]})" : object);
  };
  http::Router router;
  op::add_webhooks(router, {.client = kube.client});
  http::Request request;
  request.method = http::Method::kPost;
  request.url.path = kPaths[data[0] % kPaths.size()];
  request.headers.set("Content-Type", "application/json");
  request.body =
      R"({"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u",)"
      R"("name":"n","namespace":"s","operation":"CREATE","object":)" +
      object + "}}";
  const auto answer = kube.executor.run(router.handle(std::move(request)));
  if (!answer) __builtin_trap();
  if (answer->status == 200 && !json::parse(answer->body)) __builtin_trap();
  return 0;
}
