#include "control/webhook_certs.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/backoff.h"
#include "base/base64.h"
#include "kube/dynamic.h"
#include "net/task_group.h"
#include "net/wait.h"

namespace mainspring::control {

using json::Value;

namespace {

const kube::Resource kSecrets{"", "v1", "secrets", "Secret", true};

// More than replicas that start at the same moment.
constexpr int kMaxRaces = 10;

// What cannot be read is as good as absent: it is made anew.
std::string data_of(const Value& secret, const char* key) {
  const Value* data = secret.find("data");
  const Value* value = data == nullptr ? nullptr : data->find(key);
  if (value == nullptr) return "";
  return base64_decode(value->as_string().value_or("")).value_or("");
}

Value data_for(const ServingCerts& certs) {
  return Value::object({{"ca.crt", base64_encode(certs.ca_bundle)},
                        {"ca.key", base64_encode(certs.ca_key.reveal())},
                        {"tls.crt", base64_encode(certs.serving.cert_pem)},
                        {"tls.key", base64_encode(certs.serving.key_pem.reveal())}});
}

bool lost_a_race(const Error& error) {
  return error.code() == Code::kConflict || error.code() == Code::kAlreadyExists;
}

}  // namespace

WebhookCerts::WebhookCerts(net::Executor& executor, kube::Client& client, Options options)
    : executor_(executor),
      client_(client),
      options_(std::move(options)),
      secrets_(client, kSecrets, options_.ns) {}

Task<Result<WebhookCerts::Stored>> WebhookCerts::read_secret() {
  auto text = co_await secrets_.get(options_.secret, {});
  if (!text && text.error().code() == Code::kNotFound) co_return Stored();
  if (!text) co_return fail(std::move(text).error());
  MS_CO_TRY(const Value secret, json::parse(*text));
  Stored stored;
  stored.certs.ca_bundle = data_of(secret, "ca.crt");
  stored.certs.ca_key = Secret(data_of(secret, "ca.key"));
  stored.certs.serving.cert_pem = data_of(secret, "tls.crt");
  stored.certs.serving.key_pem = Secret(data_of(secret, "tls.key"));
  const Value* version = secret.at_pointer("/metadata/resourceVersion");
  if (version == nullptr || !version->is_string()) {
    co_return fail(Code::kInternal, "the API server sent a Secret without a resourceVersion");
  }
  stored.resource_version = std::string(*version->as_string());
  co_return stored;
}

Task<Result<void>> WebhookCerts::write_secret(const Stored* before, const ServingCerts* certs) {
  Value body = Value::object({{"data", data_for(*certs)}});
  if (before->resource_version.empty()) {
    body.set("type", "kubernetes.io/tls");
    body.set("metadata", Value::object({{"name", options_.secret}, {"namespace", options_.ns}}));
    body.set("apiVersion", "v1");
    body.set("kind", "Secret");
    MS_CO_CHECK(co_await secrets_.create(std::move(body), {}));
    co_return Result<void>();
  }
  // Refused where somebody else was faster. What others put beside our data stays.
  body["metadata"]["resourceVersion"] = before->resource_version;
  MS_CO_CHECK(co_await secrets_.patch(options_.secret,
                                      kube::Patch{kube::PatchKind::kMerge, std::move(body)}, {}));
  co_return Result<void>();
}

Task<Result<void>> WebhookCerts::publish_to(const CaTarget* target, const std::string* bundle) {
  const kube::RawApi api(client_, target->resource(), "");
  auto text = co_await api.get(target->name, {});
  // Not installed yet: nobody calls us through it, and the watch tells when it comes.
  if (!text && text.error().code() == Code::kNotFound) co_return Result<void>();
  if (!text) co_return fail(std::move(text).error());
  MS_CO_TRY(const Value object, json::parse(*text));
  auto patch = ca_patch(target->kind, object, *bundle);
  if (!patch) co_return Result<void>();
  MS_CO_CHECK(co_await api.patch(target->name, *std::move(patch), {}));
  options_.log.info("authorities written", {{"to", target->to_string()}});
  co_return Result<void>();
}

// To all, whether or not one fails: one bad target must not take the others down.
Task<Result<void>> WebhookCerts::publish(std::string bundle) {
  Result<void> all;
  for (const CaTarget& target : options_.targets) {
    auto done = co_await publish_to(&target, &bundle);
    if (!done && all) {
      all = fail(std::move(done).error().with_context("writing the authorities into " +
                                                      target.to_string()));
    }
  }
  co_return all;
}

// False where another replica was faster: look again.
Task<Result<bool>> WebhookCerts::sync_once() {
  MS_CO_TRY(const Stored stored, co_await read_secret());
  Result<void> published;
  // What is no bundle is replaced below, and shown to nobody.
  if (net::inspect_all(stored.certs.ca_bundle)) {
    published = co_await publish(stored.certs.ca_bundle);
  }
  MS_CO_TRY(const CertPlan plan, plan_certs(stored.certs, options_.policy, published.has_value(),
                                            executor_.clock().wall_now()));
  if (plan.changed) {
    auto written = co_await write_secret(&stored, &plan.certs);
    if (!written && lost_a_race(written.error())) co_return false;
    if (!written) co_return fail(std::move(written).error());
    options_.log.info("certificates renewed", {{"why", plan.why}});
  }
  MS_CO_CHECK(options_.tls->set_certificate(plan.certs.serving));
  look_again_ = plan.look_again;
  if (plan.certs.ca_bundle != stored.certs.ca_bundle) {
    published = co_await publish(plan.certs.ca_bundle);
  }
  MS_CO_CHECK(published);
  co_return true;
}

Task<Result<void>> WebhookCerts::sync() {
  const std::string what =
      fmt::format("serving certificates in Secret {}/{}", options_.ns, options_.secret);
  for (int race = 0; race < kMaxRaces; ++race) {
    auto done = co_await sync_once();
    if (!done) co_return fail(std::move(done).error().with_context(what));
    if (*done) co_return Result<void>();
  }
  co_return fail(Code::kConflict, what + ": others keep changing it");
}

Task<Result<void>> WebhookCerts::wait_for_change(Duration limit) {
  if (!changed_) {
    auto woken = co_await net::with_timeout(limit, "waiting", change_.wait());
    if (!woken && woken.error().code() == Code::kCancelled) {
      co_return fail(std::move(woken).error());
    }
  }
  co_return co_await net::sleep(options_.pause);
}

Task<Result<void>> WebhookCerts::watch(kube::Resource resource, std::string ns, std::string name) {
  const kube::Api<kube::Dynamic> api(client_, std::move(resource), std::move(ns));
  kube::WatchOptions what;
  what.field_selector = "metadata.name=" + name;
  while (true) {
    auto watch = co_await api.watch(what);
    while (watch) {
      auto event = co_await watch->next();
      if (!event && event.error().code() == Code::kCancelled) {
        co_return fail(std::move(event).error());
      }
      if (!event || !*event) break;
      changed_ = true;
      change_.notify_all();
    }
    // Each begin tells the present state, so nothing is missed meanwhile, only learned later.
    MS_CO_CHECK(co_await net::sleep(seconds(5)));
  }
}

Task<Result<void>> WebhookCerts::run() {
  const net::Context context = co_await net::current_context();
  net::TaskGroup watches(executor_, context.scope);
  watches.spawn(watch(kSecrets, options_.ns, options_.secret));
  for (const CaTarget& target : options_.targets) {
    watches.spawn(watch(target.resource(), "", target.name));
  }
  Backoff backoff({.first = seconds(1), .max = minutes(1)});
  Result<void> waited;
  while (waited) {
    changed_ = false;
    auto done = co_await sync();
    Duration limit = options_.resync;
    if (done) {
      backoff.reset();
      limit = std::clamp<Duration>(look_again_ - executor_.clock().wall_now(), Duration(0), limit);
    } else {
      if (done.error().code() == Code::kCancelled) break;
      options_.log.warn("serving certificates are not up to date", {{"error", done.error()}});
      limit = backoff.next(client_.random());
    }
    waited = co_await wait_for_change(limit);
  }
  watches.cancel();
  (void)co_await watches.join();
  co_return fail(Code::kCancelled, "cancelled");
}

}  // namespace mainspring::control
