#include "slurm/calls.h"

#include <fmt/format.h>

namespace mainspring::slurm {

Call Calls::make(Endpoint endpoint, std::vector<std::string> path, std::string subject) const {
  Call call;
  call.endpoint = endpoint;
  call.path = std::move(path);
  call.user = options_.user;
  call.lane = options_.lane;
  call.timeout = options_.timeout;
  call.subject = std::move(subject);
  return call;
}

Call Calls::with_body(Endpoint endpoint, const json::Value& body, std::string subject) const {
  Call call = make(endpoint, {}, std::move(subject));
  call.body = json::to_text(body);
  return call;
}

Task<Result<void>> Calls::send(Call call) const {
  MS_CO_CHECK(co_await client_->send(std::move(call)));
  co_return Result<void>();
}

Error not_done(std::string_view subject, std::string_view what_is) {
  return {Code::kConflict, fmt::format("Slurm accepted the change of {} and it is not there: {}; "
                                       "either Slurm ignored it or somebody changed it since",
                                       subject, what_is)};
}

Error not_there(std::string_view subject) {
  return {Code::kNotFound, fmt::format("Slurm knows no {}", subject)};
}

bool says_missing(const Error& error) {
  constexpr std::int32_t kInvalidQuery = 9000;
  const SlurmError* slurm = slurm_error(error);
  return slurm != nullptr && slurm->number == kInvalidQuery;
}

}  // namespace mainspring::slurm
