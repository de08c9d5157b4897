#include "operator/sync/token_sync.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rfc3339.h"
#include "base/text.h"
#include "control/owners.h"

namespace mainspring::op {
namespace {

using api::Token;
using control::Key;
using control::Requeue;

constexpr Duration kSoonest = seconds(1);
// A watch that is later than this has other troubles.
constexpr Duration kCacheLag = seconds(30);

std::string join(std::string_view ns, std::string_view name) {
  return fmt::format("{}/{}", ns, name);
}

control::ObjectRef ref(const Token& token) { return control::ref_to(Token::kResource, token.meta); }

}  // namespace

TokenSync::TokenSync(World& world)
    : world_(world), by_use_(world.tokens.add_index([](const Token& token, auto& values) {
        values.push_back(join(token.meta.ns, token.secret().name));
        if (const api::KeyRef* const key = api::jwt_key_of(token.spec)) {
          values.push_back(join(token.meta.ns, key->name));
        }
      })) {
  watch(world_.manager.add({.name = "token",
                            .reconcile = [this](Key key) { return reconcile(std::move(key)); },
                            .workers = world_.options.workers}));
}

void TokenSync::watch(control::Controller& queue) {
  queue.watch(world_.tokens);
  watch_owned(queue, world_.secrets, Token::kResource.kind);
  queue.watch<kube::SecretObject>(
      world_.secrets, [this](const auto& before, const auto& after, auto& to) {
        const kube::Meta& meta = (after ? after : before)->meta;
        for (const auto& token : world_.tokens.find(by_use_, join(meta.ns, meta.name))) {
          to.enqueue(token->meta.key());
        }
      });
  const auto of_controller = [this](const api::Controller& controller, control::Controller& to) {
    const api::KeyRef* const key = api::jwt_key_of(controller.spec);
    if (key == nullptr) return;
    for (const auto& token : world_.tokens.find(by_use_, join(controller.meta.ns, key->name))) {
      to.enqueue(token->meta.key());
    }
  };
  queue.watch<api::Controller>(world_.controllers,
                               [of_controller](const auto& before, const auto& after, auto& to) {
                                 if (before && after && before->spec == after->spec) return;
                                 if (before) of_controller(*before, to);
                                 if (after) of_controller(*after, to);
                               });
  world_.slurm.on_cluster([this, of_controller, &queue](KeyView owner) {
    if (const auto controller = world_.controllers.get(owner)) of_controller(*controller, queue);
  });
}

std::vector<Key> TokenSync::controllers_of(const Token& token) const {
  std::vector<Key> all;
  const api::KeyRef* const own = api::jwt_key_of(token.spec);
  if (own == nullptr) return all;
  for (const auto& controller : world_.controllers_using("Secret", {token.meta.ns, own->name})) {
    const api::KeyRef* const theirs = api::jwt_key_of(controller->spec);
    if (theirs == nullptr || theirs->name != own->name || theirs->key != own->key) continue;
    all.emplace_back(controller->meta.key());
  }
  return all;
}

Task<Result<Requeue>> TokenSync::reconcile(Key key) {
  const TokenPtr token = world_.tokens.get(key.view());
  if (!token || token->meta.deleting()) {
    written_.erase(key);
    co_return Requeue{};
  }
  Result<Outcome> outcome = co_await keep(token);
  const Result<Situation> told =
      outcome ? Result<Situation>(outcome->situation) : fail(outcome.error());
  if (std::optional<Situation> situation = to_tell(told)) {
    add_reachability(world_, controllers_of(*token), *situation);
    json::Value more = json::Value::object();
    const bool is_new = outcome && outcome->issued && outcome->issued != token->status.issued_at;
    if (is_new) more.set("issuedAt", format_rfc3339(*outcome->issued));
    MS_CO_CHECK(
        co_await write_status(&world_, token, *std::move(situation), std::move(more), is_new));
  }
  if (!outcome) co_return fail(outcome.error());
  if (!outcome->again) co_return Requeue{};
  co_return Requeue{std::max(*outcome->again, kSoonest)};
}

Task<Result<TokenSync::Outcome>> TokenSync::keep(TokenPtr token) {
  const std::string& ns = token->meta.ns;
  const api::KeyRef* const key_ref = api::jwt_key_of(token->spec);
  if (key_ref == nullptr) {
    co_return Outcome{
        blocked(world_, ref(*token), "SyncFailed", "spec.jwtKeyRef must be set"), {}, {}};
  }
  const auto key = find_secret(world_, ns, *key_ref, "spec.jwtKeyRef");
  const auto lifetime = build::token_lifetime(*token);
  for (const Error* const error :
       {key ? nullptr : &key.error(), lifetime ? nullptr : &lifetime.error()}) {
    if (error == nullptr) continue;
    co_return Outcome{blocked(world_, ref(*token), "SyncFailed", error->to_string()), {}, {}};
  }
  const SecretPtr current = world_.secrets.get(ns, token->secret().name);
  if (!current) co_return co_await write(token, current, *key);
  if (!build::is_own_token_secret(*token, *current)) {
    co_return Outcome{
        blocked(world_, ref(*token), "SecretNotOurs",
                fmt::format("the Secret {} exists and is not this Token's; remove it, or name "
                            "another in spec.secretRef",
                            quoted(current->meta.name))),
        {},
        {}};
  }
  if (!control::is_controlled_by(current->meta, token->meta.uid)) {
    co_return co_await adopt(token, current);
  }
  if (current->immutable && token->spec.refresh) {
    // No API makes it mutable again. Its end wakes us to write another.
    MS_CO_CHECK(
        co_await ensure_absent(&world_, ref(*token), kube::SecretObject::kResource, current->meta));
    co_return Outcome{waiting("Replacing", "the Secret is immutable and is made anew"), {}, {}};
  }
  co_return co_await write(token, current, *key);
}

Task<Result<TokenSync::Outcome>> TokenSync::write(TokenPtr token, SecretPtr current,
                                                  SecretPtr key) {
  const Secret& signing = *key->find(api::jwt_key_of(token->spec)->key);
  const WallTime now = world_.clock.wall_now();
  const SecretPtr effective = as_written(*token, current);
  build::TokenPlan plan = build::plan_token(*token, effective.get(), signing, now);
  Secret text = plan.write ? Secret() : *effective->find(token->secret().key);
  if (plan.write) {
    Random& random = world_.manager.random();
    const std::uint64_t high = random.next();
    MS_CO_TRY(text, build::sign_token(*token, signing, now, build::uuid_of(high, random.next())));
  }
  if (!current || !current->immutable) {
    MS_CO_CHECK(co_await ensure(&world_, ref(*token), kube::SecretObject::kResource,
                                build::token_secret(*token, text),
                                current ? std::optional(current->meta) : std::nullopt));
  }
  if (plan.write) {
    written_.insert_or_assign(
        Key(token->meta.key()),
        Written{token->meta.uid, current ? current->meta.resource_version : "", text,
                world_.clock.now()});
    plan.wait = *build::token_lifetime(*token) * 4 / 5;
  }
  const auto claims = build::read_token(text, signing);
  Outcome out;
  out.again = plan.wait;
  if (claims) out.issued = claims->issued;
  out.situation.ready = plan.write || plan.why == "Valid";
  out.situation.ready_reason = out.situation.ready ? "Issued" : plan.why;
  out.situation.ready_message =
      out.situation.ready
          ? fmt::format("the Secret {} holds a token for {}", token->secret().name,
                        build::token_user(*token))
          : "the token is no longer good, and spec.refresh is false: remove its Secret for another";
  co_return out;
}

// Two owners cannot both be the controller, and an apply would add one: so the list is replaced.
Task<Result<TokenSync::Outcome>> TokenSync::adopt(TokenPtr token, SecretPtr current) {
  json::Value patch = json::Value::object();
  patch["metadata"]["resourceVersion"] = current->meta.resource_version;
  patch["metadata"]["ownerReferences"] = json::Value::array(
      {control::to_json(control::controller_ref(Token::kResource, token->meta))});
  const kube::RawApi api(world_.client, kube::SecretObject::kResource, token->meta.ns);
  MS_CO_CHECK(
      co_await api.patch(current->meta.name, {kube::PatchKind::kMerge, std::move(patch)}, {}));
  co_return Outcome{
      waiting("Adopting", "the Secret of an earlier operator becomes this Token's"), {}, {}};
}

TokenSync::SecretPtr TokenSync::as_written(const Token& token, SecretPtr current) {
  const auto found = written_.find(token.meta.key());
  if (found == written_.end()) return current;
  const Written& written = found->second;
  const bool lags = written.token_uid == token.meta.uid &&
                    written.before == (current ? current->meta.resource_version : "") &&
                    world_.clock.now() - written.at < kCacheLag;
  if (!lags) {
    written_.erase(found);
    return current;
  }
  auto secret = std::make_shared<kube::SecretObject>();
  secret->data.emplace(token.secret().key, written.text);
  return secret;
}

}  // namespace mainspring::op
