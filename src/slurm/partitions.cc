#include "slurm/partitions.h"

#include <fmt/format.h>

#include <span>

namespace mainspring::slurm {
namespace {

std::string subject_of(const std::string& name) { return "partition " + name; }

// What was asked for and is not so. "" if nothing.
std::string difference(const PartitionSpec& asked, const Partition& is) {
  if (asked.max_time.set() && !(asked.max_time == is.max_time)) {
    return fmt::format("its maximum time is {}", is.max_time.value_or(-1));
  }
  if (asked.state && *asked.state != is.state) {
    return fmt::format("it is {}", to_string(is.state));
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
  auto is = co_await get(spec.name);
  if (!is && is.error().code() == Code::kNotFound) {
    co_return fail(not_done(subject, "there is none"));
  }
  MS_CO_CHECK(is);
  if (const std::string other = difference(spec, *is); !other.empty()) {
    co_return fail(not_done(subject, other));
  }
  co_return is;
}

Task<Result<void>> Partitions::remove(std::string name) const {
  std::string subject = subject_of(name);
  co_return co_await calls_.send(
      calls_.make(Endpoint::kDeletePartition, {std::move(name)}, std::move(subject)));
}

}  // namespace mainspring::slurm
