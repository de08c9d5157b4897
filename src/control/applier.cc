// control/applier.cc
#include "control/applier.h"

#include <algorithm>
#include <utility>

#include "base/text.h"
#include "control/object_meta.h"
#include "control/owned_fields.h"
#include "net/task_group.h"

namespace mainspring::control {

namespace {

std::string_view text_at(const json::Value& value, std::string_view pointer) {
  const json::Value* found = value.at_pointer(pointer);
  return found != nullptr ? found->as_string().value_or("") : "";
}

std::string memory_key(const kube::Resource& resource, KeyView key, std::string_view subresource) {
  std::string text = resource.to_string();
  for (const std::string_view part : {key.ns, key.name, subresource}) {
    text += '/';
    text += part;
  }
  return text;
}

// All of the metadata that an apply can own. Each part is followed by a byte that is in none.
Sha256Digest metadata_digest(const kube::Meta& meta) {
  std::string text;
  const auto add = [&text](std::string_view part) { (text += part) += '\0'; };
  for (const json::StringMap* map : {&meta.labels, &meta.annotations}) {
    for (const auto& [key, value] : *map) (add(key), add(value));
    add("");
  }
  for (const kube::OwnerReference& owner : meta.owners) {
    for (const auto* part : {&owner.api_version, &owner.kind, &owner.name, &owner.uid}) add(*part);
    add(owner.controller ? "c" : "");
    add(owner.block_owner_deletion ? "b" : "");
  }
  add("");
  for (const std::string& finalizer : meta.finalizers) add(finalizer);
  return sha256(text);
}

bool is_newer(const std::string& version, const std::string& than) {
  const auto a = parse_integer<std::uint64_t>(version);
  const auto b = parse_integer<std::uint64_t>(than);
  return a && b ? *a > *b : version != than;
}

// The generation of a kind with a spec counts the changes to it. Kinds that keep their fields at
// the top may have a generation that never moves (PriorityClass).
bool all_in_spec(const json::Value& desired) {
  for (const auto [name, value] : desired.members()) {
    if (name != "apiVersion" && name != "kind" && name != "metadata" && name != "spec")
      return false;
  }
  return true;
}

}  // namespace

struct Applier::Target {
  std::string ns;
  std::string name;
  std::string memory_key;
  Sha256Digest desired;
};

Applier::Applier(kube::Client& client, Options options)
    : client_(client), options_(std::move(options)), known_(options_.memory) {
  if (options_.metrics == nullptr) return;
  const auto counter = [&](const char* outcome) {
    return options_.metrics->counter("mainspring_applies_total",
                                     "Objects asked to be as desired, by what it took.",
                                     {{"outcome", outcome}});
  };
  skipped_ = counter("no_call");
  looked_ = counter("read");
  written_ = counter("write");
}

Result<Applier::Target> Applier::target_of(ApplyRequest& request) {
  // Part of what is compared, so it must be the same whether or not the caller writes it.
  if (request.desired.find("apiVersion") == nullptr) {
    request.desired["apiVersion"] = request.resource.api_version();
  }
  const std::string_view ns = text_at(request.desired, "/metadata/namespace");
  const std::string_view name = text_at(request.desired, "/metadata/name");
  if (name.empty() || (ns.empty() && request.resource.namespaced)) {
    return fail(Code::kInvalid, "applying " + request.resource.to_string() + " " + quoted(name) +
                                    ": the desired object has no metadata." +
                                    (name.empty() ? "name" : "namespace"));
  }
  return Target{std::string(ns), std::string(name),
                memory_key(request.resource, {ns, name}, request.subresource),
                sha256(json::to_text(request.desired, {.sort_keys = true}))};
}

Task<Result<Applied>> Applier::apply(ApplyRequest request) {
  MS_CO_TRY(const Target target, target_of(request));
  switch (judge(target, request)) {
    case Verdict::kNothingToDo:
      skipped_.add();
      co_return Applied{false, *std::move(request.seen)};
    case Verdict::kLook: {
      looked_.add();
      MS_CO_TRY(auto good, co_await look(&target, &request));
      if (good) co_return Applied{false, *std::move(good)};
      break;
    }
    case Verdict::kWrite:
      break;
  }
  written_.add();
  co_return co_await write(&target, std::move(request));
}

Applier::Verdict Applier::judge(const Target& target, const ApplyRequest& request) {
  if (!request.seen) return Verdict::kWrite;
  const kube::Meta& seen = *request.seen;
  Known* known = known_.find(target.memory_key);
  if (known == nullptr || known->uid != seen.uid) return Verdict::kLook;
  if (known->desired != target.desired) return Verdict::kWrite;
  if (!is_newer(seen.resource_version, known->version)) return Verdict::kNothingToDo;
  const bool only_status = request.subresource.empty() && all_in_spec(request.desired) &&
                           seen.generation != 0 && seen.generation == known->generation &&
                           metadata_digest(seen) == known->metadata;
  if (!only_status) return Verdict::kLook;
  known->version = seen.resource_version;
  return Verdict::kNothingToDo;
}

void Applier::remember(const Target& target, const kube::Meta& meta) {
  known_.put(target.memory_key, {target.desired, metadata_digest(meta), meta.uid,
                                 meta.resource_version, meta.generation});
}

// The live object's metadata where it is as desired.
Task<Result<std::optional<kube::Meta>>> Applier::look(const Target* target,
                                                      const ApplyRequest* request) {
  const kube::RawApi api(client_, request->resource, target->ns);
  auto text = co_await api.get(target->name, {});
  if (!text && text.error().code() == Code::kNotFound) co_return std::nullopt;
  if (!text) co_return fail(std::move(text).error());
  MS_CO_TRY(const json::Document live, json::Document::parse(*text));
  if (!apply_changes_nothing(request->desired, live.root(), options_.field_manager,
                             request->subresource)) {
    co_return std::nullopt;
  }
  json::Reader reader;
  MS_CO_TRY(ObjectMeta object, json::decode<ObjectMeta>(reader, *text));
  remember(*target, object.meta);
  co_return std::move(object.meta);
}

Task<Result<Applied>> Applier::write(const Target* target, ApplyRequest request) {
  // Until the answer is here it is not known which of the two states the object is in.
  known_.erase(target->memory_key);
  const kube::Api<ObjectMeta> api(client_, request.resource, target->ns);
  kube::ApplyOptions options{.field_manager = options_.field_manager,
                             .subresource = request.subresource,
                             .force = options_.force};
  auto answer = co_await api.apply(std::move(request.desired), std::move(options));
  if (!answer) {
    co_return fail(
        std::move(answer).error().with_context("applying " + request.resource.to_string() + " " +
                                               ObjectKey(target->ns, target->name).to_string()));
  }
  remember(*target, answer->meta);
  // An apply that changes nothing leaves the version alone.
  const bool changed = !request.seen || request.seen->uid != answer->meta.uid ||
                       request.seen->resource_version != answer->meta.resource_version;
  co_return Applied{changed, std::move(answer->meta)};
}

Task<Result<void>> Applier::work(std::vector<ApplyRequest>* requests, std::size_t* next,
                                 std::vector<std::optional<Result<Applied>>>* results) {
  while (*next < requests->size()) {
    const std::size_t mine = (*next)++;
    (*results)[mine] = co_await apply(std::move((*requests)[mine]));
  }
  co_return Result<void>();
}

Task<Result<std::vector<Result<Applied>>>> Applier::apply_all(std::vector<ApplyRequest> requests,
                                                              std::size_t limit) {
  const net::Context context = co_await net::current_context();
  std::vector<std::optional<Result<Applied>>> results(requests.size());
  std::size_t next = 0;
  net::TaskGroup workers(*context.executor, context.scope);
  for (std::size_t i = 0; i < std::clamp<std::size_t>(limit, 1, requests.size() + 1); ++i) {
    workers.spawn(work(&requests, &next, &results));
  }
  MS_CO_CHECK(co_await workers.join());
  std::vector<Result<Applied>> all;
  all.reserve(results.size());
  for (auto& result : results) all.push_back(*std::move(result));
  co_return all;
}

void Applier::forget(const kube::Resource& resource, KeyView key) {
  for (const std::string_view subresource : {"", "status"}) {
    known_.erase(memory_key(resource, key, subresource));
  }
}

}  // namespace mainspring::control
