#include "slurm/partitions.h"

#include <fmt/format.h>

#include <algorithm>
#include <span>

#include "slurm/written.h"

namespace mainspring::slurm {
namespace {

std::string subject_of(const std::string& name) { return "partition " + name; }

// Whether one flag is as asked: NAME is there, NAME_CLEAR has taken NAME away.
bool has_flag(std::string_view asked, const Partition& is) {
  constexpr std::string_view kClear = "_CLEAR";
  if (!asked.ends_with(kClear)) return is.flags.contains(asked);
  return !is.flags.contains(asked.substr(0, asked.size() - kClear.size()));
}

// What was asked for and is not so. "" if nothing.
std::string difference(const PartitionSpec& asked, const Partition& is, const json::Value& shown) {
  json::Value sent = to_json(asked);
  sent.erase("nodes");
  sent.erase("flags");
  if (std::string other = value_difference(sent, shown); !other.empty()) return other;
  // Nodes that were named by a set of them, or by ALL, are whatever these stand for.
  const bool by_name = asked.nodes && *asked.nodes != "ALL" && is.node_sets.empty();
  if (by_name && !same_hosts(*asked.nodes, is.nodes)) {
    return fmt::format("its nodes are '{}', not '{}'", is.nodes.view(), *asked.nodes);
  }
  for (const std::string& flag : asked.flags) {
    if (!has_flag(flag, is)) return fmt::format("it is not {}", flag);
  }
  return {};
}

}  // namespace

Task<Result<Partition>> Partitions::get(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.one<Partition>(
      calls_.make(Endpoint::kGetPartition, {std::move(name)}, std::move(subject)), "partitions");
}

Task<Result<Listed>> Partitions::list(Source::OnRecord<Partition> on_record,
                                      std::int64_t since) const {
  co_return co_await calls_.stream<Partition>(calls_.make(Endpoint::kListPartitions), "partitions",
                                              since, std::move(on_record));
}

Task<Result<Partition>> Partitions::write(PartitionSpec spec) const {
  // Slurm answers 200 to a partition without a name.
  if (spec.name.empty()) co_return fail(Code::kInvalid, "a partition is written under its name");
  const std::string subject = subject_of(spec.name);
  const json::Value body = to_json(std::span<const PartitionSpec>(&spec, 1));
  MS_CO_CHECK(co_await calls_.send(calls_.with_body(Endpoint::kCreatePartitions, body, subject)));
  auto answer =
      co_await calls_.client().send(calls_.make(Endpoint::kGetPartition, {spec.name}, subject));
  if (!answer && answer.error().code() == Code::kNotFound) {
    co_return fail(not_done(subject, "there is none"));
  }
  MS_CO_CHECK(answer);
  MS_CO_TRY(const json::Value shown, json::parse(answer->body));
  using List = std::vector<Partition>;
  MS_CO_TRY(List is, decode_member<List>(std::move(answer->body), "partitions"));
  if (is.empty()) co_return fail(not_done(subject, "there is none"));
  const std::string other = difference(spec, is.front(), *shown.at_pointer("/partitions/0"));
  if (!other.empty()) co_return fail(not_done(subject, other));
  co_return std::move(is.front());
}

Task<Result<void>> Partitions::remove(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.send(
      calls_.make(Endpoint::kDeletePartition, {std::move(name)}, std::move(subject)));
}

}  // namespace mainspring::slurm
