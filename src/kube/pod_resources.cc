#include "kube/pod_resources.h"

#include <utility>

namespace mainspring::kube {

namespace {

using Select = const Quantities& (*)(const Container&);

Result<ResourceTotals> parse(const Quantities& amounts) {
  ResourceTotals parsed;
  for (const auto& [name, text] : amounts.text()) {
    MS_TRY(const Quantity amount, amounts.amount(name));
    parsed.emplace(name, amount);
  }
  return parsed;
}

Result<void> add(ResourceTotals& totals, const ResourceTotals& more) {
  for (const auto& [name, amount] : more) {
    const auto [at, is_new] = totals.try_emplace(name, amount);
    if (is_new) continue;
    MS_TRY(at->second, with_context(at->second.plus(amount), "adding up " + name));
  }
  return {};
}

void raise(ResourceTotals& totals, const ResourceTotals& floor) {
  for (const auto& [name, amount] : floor) {
    const auto [at, is_new] = totals.try_emplace(name, amount);
    if (!is_new && at->second < amount) at->second = amount;
  }
}

Result<ResourceTotals> sum_containers(const PodSpec& spec, Select select) {
  ResourceTotals together;
  for (const Container& container : spec.containers) {
    MS_TRY(const ResourceTotals own, parse(select(container)));
    MS_CHECK(add(together, own));
  }
  ResourceTotals sidecars;  // Those that run already when the next init container starts.
  ResourceTotals peak;
  for (const Container& container : spec.init_containers) {
    MS_TRY(ResourceTotals own, parse(select(container)));
    if (container.sidecar) {
      MS_CHECK(add(together, own));
      MS_CHECK(add(sidecars, own));
      raise(peak, sidecars);
    } else {
      MS_CHECK(add(own, sidecars));
      raise(peak, own);
    }
  }
  raise(together, peak);
  return together;
}

bool counts_for_whole_pod(std::string_view resource) {
  return resource == "cpu" || resource == "memory" || resource.starts_with("hugepages-");
}

Result<void> replace(ResourceTotals& totals, const Quantities& whole_pod) {
  MS_TRY(const ResourceTotals amounts, parse(whole_pod));
  for (const auto& [name, amount] : amounts) {
    if (counts_for_whole_pod(name)) totals.insert_or_assign(name, amount);
  }
  return {};
}

}  // namespace

Result<ResourceTotals> pod_requests(const PodSpec& spec) {
  MS_TRY(ResourceTotals totals,
         sum_containers(spec, [](const Container& c) -> const Quantities& { return c.requests; }));
  if (spec.resources) MS_CHECK(replace(totals, spec.resources->requests));
  if (spec.overhead) {
    MS_TRY(const ResourceTotals overhead, parse(*spec.overhead));
    MS_CHECK(add(totals, overhead));
  }
  return totals;
}

Result<ResourceTotals> pod_limits(const PodSpec& spec) {
  MS_TRY(ResourceTotals totals,
         sum_containers(spec, [](const Container& c) -> const Quantities& { return c.limits; }));
  if (spec.resources) MS_CHECK(replace(totals, spec.resources->limits));
  if (spec.overhead) {
    MS_TRY(ResourceTotals overhead, parse(*spec.overhead));
    std::erase_if(overhead, [&](const auto& entry) {
      const auto limit = totals.find(entry.first);
      return limit == totals.end() || limit->second.is_zero();
    });
    MS_CHECK(add(totals, overhead));
  }
  return totals;
}

}  // namespace mainspring::kube
