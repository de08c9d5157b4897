#include "sim/slurm_api.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/base64.h"
#include "base/digest.h"
#include "base/hostlist.h"
#include "base/text.h"
#include "http/not_sent.h"
#include "net/wait.h"
#include "sim/slurm_records.h"

namespace mainspring::sim {

using http::Method;
using http::Request;
using http::Response;
using json::Value;

namespace {

constexpr Duration kControllerPatience = seconds(10);

Response no_such_path() {
  return http::text_response(404, "Unable find requested URL. Please view /openapi/v3 for API.\n");
}

Response unauthenticated(int version) {
  return slurm_answer(
      SlurmRefusal{1007, "Protocol authentication error", "Authentication failure", "", 511},
      Value::object(), version);
}

// A number as requests have it: plain, as text, or {"set":true,"number":n}.
std::optional<std::int64_t> number_in(const Value& object, std::string_view key) {
  const Value* found = object.find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_object()) found = found->find("number");
  if (found == nullptr) return std::nullopt;
  if (const auto text = found->as_string()) {
    const auto parsed = parse_integer<std::int64_t>(*text);
    return parsed ? std::optional(*parsed) : std::nullopt;
  }
  return found->as_int();
}

std::optional<int> whole_in(const Value& object, std::string_view key) {
  const auto number = number_in(object, key);
  return number ? std::optional(static_cast<int>(*number)) : std::nullopt;
}

std::optional<std::string> text_in(const Value& object, std::string_view key) {
  const Value* const found = object.find(key);
  if (found == nullptr || !found->as_string()) return std::nullopt;
  return std::string(*found->as_string());
}

// An array of names, or a hostlist.
std::vector<std::string> names_in(const Value& object, std::string_view key) {
  std::vector<std::string> names;
  const Value* const found = object.find(key);
  if (found == nullptr) return names;
  if (const auto text = found->as_string()) return expand_hostlist(*text).value_or(names);
  for (const Value& one : *found) {
    for (std::string& name : expand_hostlist(one.as_string().value_or("")).value_or(names)) {
      names.push_back(std::move(name));
    }
  }
  return names;
}

// None where the body does not say; [""] is none of them.
std::optional<std::vector<std::string>> changed_names_in(const Value& body, std::string_view key) {
  if (body.find(key) == nullptr) return std::nullopt;
  auto names = names_in(body, key);
  std::erase(names, "");
  return names;
}

std::optional<std::string> first_in(const Value& object, std::string_view key) {
  const Value* const found = object.find(key);
  if (found == nullptr) return std::nullopt;
  if (found->is_array() && !found->empty()) {
    return std::string(found->at(0).as_string().value_or(""));
  }
  return text_in(object, key);
}

// Only an administrator's job may be another's.
SlurmJob job_in(const Value& body, const std::string& caller, bool admin) {
  SlurmJob job;
  const std::string user = (admin ? text_in(body, "user_id") : std::nullopt).value_or(caller);
  const auto number = [&](std::string_view key, std::int64_t other) {
    return static_cast<int>(number_in(body, key).value_or(other));
  };
  job.name = text_in(body, "name").value_or("");
  job.partition = text_in(body, "partition").value_or("all");
  job.user = user;
  job.admin_comment = text_in(body, "admin_comment").value_or("");
  job.comment = text_in(body, "comment").value_or("");
  job.extra = text_in(body, "extra").value_or("");
  job.required = names_in(body, "required_nodes");
  job.excluded = names_in(body, "excluded_nodes");
  job.feature = text_in(body, "constraints").value_or("");
  job.account = text_in(body, "account").value_or(job.account);
  job.qos = text_in(body, "qos").value_or(job.qos);
  job.gres = text_in(body, "tres_per_node").value_or("");
  job.priority = number_in(body, "priority").value_or(job.priority);
  job.nodes_wanted = number("nodes", std::max<std::int64_t>(1, std::ssize(job.required)));
  job.tasks_per_node = number("tasks_per_node", 0);
  job.cpus_per_node = number("cpus_per_task", 1) * std::max(job.tasks_per_node, 1);
  job.memory_per_node = number_in(body, "memory_per_node");
  job.time_limit = number_in(body, "time_limit");
  const Value* const hold = body.find("hold");
  job.held = hold != nullptr && hold->as_bool().value_or(false);
  return job;
}

bool is_external(const Value& job) {
  const Value* const flags = job.find("flags");
  return flags != nullptr && std::any_of(flags->begin(), flags->end(), [](const Value& flag) {
           return flag.as_string() == "EXTERNAL_JOB";
         });
}

// An answer that is wholly here and is handed out in pieces, as a connection would.
class WholeBody final : public http::StreamingResponse {
 public:
  explicit WholeBody(Response response) : response_(std::move(response)) {}
  int status() const override { return response_.status; }
  const http::Headers& headers() const override { return response_.headers; }
  http::Task<Result<std::string_view>> next_chunk() override {
    constexpr std::size_t kPiece = 16'000;
    const std::string_view rest = std::string_view(response_.body).substr(at_);
    const std::string_view piece = rest.substr(0, kPiece);
    at_ += piece.size();
    co_return piece;
  }

 private:
  Response response_;
  std::size_t at_ = 0;
};

// "All since a time" of a list: whether nothing changed since, by Slurm's own rule.
bool unchanged(const Request& request, std::int64_t changed) {
  const auto since = request.url.query_value("update_time");
  if (!since) return false;
  const auto time = parse_integer<std::int64_t>(*since);
  return time && *time - 1 >= changed;
}

}  // namespace

SlurmApi::SlurmApi(net::Executor& executor, Options options)
    : executor_(executor),
      options_(std::move(options)),
      model_(executor.clock().wall_now(), options_.model) {}

SlurmModel& SlurmApi::model() {
  if (controller_up_) model_.advance(executor_.clock().wall_now());
  return model_;
}

void SlurmApi::start_controller() {
  controller_up_ = true;
  model_.restart(executor_.clock().wall_now());
}

http::Task<Result<void>> SlurmApi::pass_time(const Request* request) {
  ++requests_;
  if (!rest_up_) co_return fail(http::not_sent({Code::kTransient, "connection refused"}));
  const bool ping = request->url.path.find("/ping") != std::string::npos;
  co_return co_await net::sleep(controller_up_ || ping ? options_.latency : kControllerPatience);
}

http::Task<Result<Response>> SlurmApi::send(Request request) {
  MS_CO_CHECK(co_await pass_time(&request));
  co_return answer(request);
}

http::Task<Result<std::unique_ptr<http::StreamingResponse>>> SlurmApi::open(Request request) {
  MS_CO_CHECK(co_await pass_time(&request));
  std::unique_ptr<http::StreamingResponse> body = std::make_unique<WholeBody>(answer(request));
  co_return body;
}

http::Task<Result<http::Upgraded>> SlurmApi::upgrade(Request) {
  co_return fail(Code::kUnsupported, "slurmrestd has no websockets");
}

std::optional<Response> SlurmApi::refuse_caller(const Request& request, Caller& caller) const {
  const auto token = request.headers.get("X-SLURM-USER-TOKEN");
  caller.user = "slurm";
  if (!options_.key.empty()) {
    const auto parts = split(*token, '.');
    if (parts.size() != 3) return unauthenticated(45);
    const std::size_t signed_bytes = parts[0].size() + 1 + parts[1].size();
    const auto signature = hmac_sha256(options_.key.reveal(), token->substr(0, signed_bytes));
    const auto claims = json::parse(base64url_decode(parts[1]).value_or(""));
    const bool good =
        base64url_decode(parts[2]).value_or("") == as_text(signature) && claims &&
        number_in(*claims, "exp").value_or(0) >
            std::chrono::duration_cast<seconds>(executor_.clock().wall_now().time_since_epoch())
                .count();
    if (!good) return unauthenticated(45);
    caller.user = text_in(*claims, "sun").value_or("");
  }
  caller.admin = caller.user == "slurm" || caller.user == "root";
  if (const auto other = request.headers.get("X-SLURM-USER-NAME"); other && *other != caller.user) {
    if (!caller.admin) return unauthenticated(45);
    caller.user = *other;
    caller.admin = caller.user == "slurm" || caller.user == "root";
  }
  return std::nullopt;
}

Response SlurmApi::answer(const Request& request) {
  const auto parts = split(request.url.path, '/');
  if (parts.size() < 4 || parts[1] != "slurm" ||
      std::find(options_.versions.begin(), options_.versions.end(), parts[2]) ==
          options_.versions.end()) {
    return no_such_path();
  }
  Target target{request.method,
                parse_integer<int>(parts[2].substr(5)).value_or(0),
                std::string(parts[3]),
                {}};
  for (std::size_t i = 4; i < parts.size(); ++i) {
    if (!parts[i].empty()) {
      target.rest.push_back(http::percent_decode(parts[i]).value_or(""));
    }
  }
  if (!request.headers.get("X-SLURM-USER-TOKEN")) {
    return http::text_response(401, "Authentication failure");
  }
  if (target.kind == "ping") {
    return slurm_answer(
        200,
        Value::object({{"pings", Value::array({Value::object({{"hostname", "controller"},
                                                              {"responding", controller_up_},
                                                              {"primary", true},
                                                              {"latency", 100}})})}}),
        target.version);
  }
  Caller caller;
  if (auto refused = refuse_caller(request, caller)) return *std::move(refused);
  if (!controller_up_) {
    return slurm_answer(SlurmRefusal{1800, "Unable to contact slurm controller (connect failure)",
                                     "slurmctld does not answer", "", 502},
                        Value::object(), target.version);
  }
  model_.advance(executor_.clock().wall_now());
  return route(target, request, caller);
}

Response SlurmApi::route(const Target& target, const Request& request, const Caller& caller) {
  if (target.method == Method::kGet && target.kind == "reconfigure") {
    if (!caller.admin) {
      return slurm_answer(SlurmRefusal{2010, "Invalid user id", "slurm_reconfigure() failed", ""},
                          Value::object(), target.version);
    }
    model_.reconfigure();
    return slurm_answer(200, Value::object(), target.version);
  }
  if (target.method == Method::kGet) return read(target, request, caller);
  Value body = Value::object();
  if (!request.body.empty()) {
    auto parsed = json::parse(request.body);
    if (!parsed) return http::text_response(400, "unable to parse the body");
    body = *std::move(parsed);
  }
  return write(target, body, caller);
}

std::int64_t SlurmApi::seconds_now() const {
  const auto since_epoch = executor_.clock().wall_now().time_since_epoch();
  return std::chrono::duration_cast<seconds>(since_epoch).count();
}

Response SlurmApi::listed(std::string_view list, Value items, int version) const {
  Value contents = Value::object();
  contents[list] = std::move(items);
  contents["last_update"] = slurm_number(seconds_now());
  return slurm_answer(200, std::move(contents), version);
}

Response SlurmApi::read(const Target& target, const Request& request, const Caller& caller) const {
  if (target.kind == "nodes" || target.kind == "node") return read_nodes(target, request);
  if (target.kind == "jobs") return read_jobs(target, request);
  if (target.kind == "job" && target.rest.size() == 2 && target.rest[1] == "requeue" &&
      target.version >= 45) {
    return requeue(target, caller);
  }
  if (target.kind == "job" && !target.rest.empty()) return read_job(target);
  if (target.kind == "partitions" || target.kind == "partition") {
    return read_partitions(target, request);
  }
  if (target.kind == "reservations" || target.kind == "reservation") {
    return read_reservations(target, request);
  }
  if (target.kind == "conf" && target.version >= 45) {
    const Value meta = Value::object({{"BOOT_TIME", model_.boot_time()}});
    return slurm_answer(200,
                        Value::object({{"slurm_conf", Value::object({{"ClusterName", "sim"}})},
                                       {"slurm_conf_meta", meta}}),
                        target.version);
  }
  if (target.kind == "diag") {
    const Value numbers = Value::object({{"req_time", slurm_number(seconds_now())},
                                         {"req_time_start", slurm_number(model_.boot_time())}});
    return slurm_answer(200, Value::object({{"statistics", numbers}}), target.version);
  }
  return no_such_path();
}

Response SlurmApi::read_nodes(const Target& target, const Request& request) const {
  Value items = Value::array();
  if (target.kind == "nodes") {
    if (unchanged(request, model_.nodes_changed())) return {.status = 304};
    for (const SlurmNode& one : model_.nodes()) items.push_back(to_json(one, model_));
    return listed("nodes", std::move(items), target.version);
  }
  if (target.rest.empty()) return no_such_path();
  const std::string& name = target.rest[0];
  const SlurmNode* const one = model_.node(name);
  if (one == nullptr) {
    return slurm_answer(
        SlurmRefusal{0, "No error", "Failure to query node " + name, "_dump_nodes", 200},
        Value::object(), target.version);
  }
  items.push_back(to_json(*one, model_));
  return listed("nodes", std::move(items), target.version);
}

Response SlurmApi::read_jobs(const Target& target, const Request& request) const {
  Value items = Value::array();
  if (!target.rest.empty() && target.rest[0] == "state") {
    std::vector<std::string> wanted;
    for (const auto& [key, value] : request.url.query_pairs()) {
      if (key == "job_id") wanted.push_back(value);
    }
    for (const auto& [id, one] : model_.jobs()) {
      const bool asked =
          std::find(wanted.begin(), wanted.end(), std::to_string(id)) != wanted.end();
      if (wanted.empty() || asked) items.push_back(pulse_of(one));
    }
    return slurm_answer(200, Value::object({{"jobs", std::move(items)}}), target.version);
  }
  if (unchanged(request, model_.jobs_changed())) {
    const std::string warning = fmt::format("No job changes since update_time[{}]",
                                            request.url.query_value("update_time").value_or(""));
    return slurm_answer(
        200,
        Value::object({{"jobs", Value::array()},
                       {"last_update", slurm_number(0)},
                       {"warnings", Value::array({slurm_warning(warning, "op_handler_jobs")})}}),
        target.version);
  }
  for (const auto& [id, one] : model_.jobs()) items.push_back(to_json(one));
  return listed("jobs", std::move(items), target.version);
}

Response SlurmApi::read_job(const Target& target) const {
  const auto id = parse_integer<std::uint32_t>(target.rest[0]);
  const SlurmJob* const one = id ? model_.job(*id) : nullptr;
  if (one != nullptr) {
    Value family = Value::array({to_json(*one)});
    for (const auto& [other, part] : model_.jobs()) {
      if (part.leader == *id && other != *id) family.push_back(to_json(part));
    }
    return listed("jobs", std::move(family), target.version);
  }
  return slurm_answer(
      SlurmRefusal{2017, "Invalid job id specified", "Unable to query JobId=" + target.rest[0],
                   "_handle_job_get", 404},
      Value::object({{"jobs", Value::array()}}), target.version);
}

// External jobs are all that there are, and none of them can be queued again.
Response SlurmApi::requeue(const Target& target, const Caller& caller) const {
  const SlurmJob* const job = model_.job(parse_integer<std::uint32_t>(target.rest[0]).value_or(0));
  const bool known = job != nullptr;
  const std::string what = "Requeue JobID=" + target.rest[0] + " failed";
  if (known && !may_change(*job, caller)) {
    return slurm_answer(
        SlurmRefusal{2002, "Access/permission denied", what, "op_handler_job_requeue"},
        Value::object({{"status", Value::array()}}), target.version);
  }
  return slurm_answer(
      known ? SlurmRefusal{2039, "Only batch jobs are accepted or processed", what,
                           "op_handler_job_requeue"}
            : SlurmRefusal{2017, "Invalid job id specified", what, "op_handler_job_requeue", 404},
      Value::object({{"status", Value::array()}}), target.version);
}

Response SlurmApi::read_partitions(const Target& target, const Request& request) const {
  const bool all = target.kind == "partitions";
  if (all && unchanged(request, model_.partitions_changed())) return {.status = 304};
  if (!all && target.rest.empty()) return no_such_path();
  Value items = Value::array();
  for (const SlurmPartition& one : model_.partitions()) {
    if (all || one.name == target.rest[0]) items.push_back(to_json(one, model_));
  }
  if (all || !items.empty()) return listed("partitions", std::move(items), target.version);
  const Value warning =
      slurm_warning("Unable to find partition " + target.rest[0], "_partition_get");
  return slurm_answer(200, Value::object({{"warnings", Value::array({warning})}}), target.version);
}

Response SlurmApi::read_reservations(const Target& target, const Request& request) const {
  const bool all = target.kind == "reservations";
  if (all && unchanged(request, model_.reservations_changed())) return {.status = 304};
  if (!all && target.rest.empty()) return no_such_path();
  Value items = Value::array();
  for (const auto& [name, one] : model_.reservations()) {
    if (all || name == target.rest[0]) items.push_back(to_json(one));
  }
  if (all || !items.empty()) return listed("reservations", std::move(items), target.version);
  // Without any reservation slurmctld has nothing to say, and slurmrestd takes that for success.
  return slurm_answer(
      model_.reservations().empty()
          ? SlurmRefusal{0, "No error", "Unable to query reservations", "slurm_load_reservations()",
                         200}
          : SlurmRefusal{9000, "Query empty or not RFC7320 compliant",
                         "Unable to find reservation " + target.rest[0], "_get_single_reservation"},
      Value::object(), target.version);
}

Response SlurmApi::write(const Target& target, const Value& body, const Caller& caller) {
  if (target.kind == "job" || target.kind == "jobs") return write_job(target, body, caller);
  const int version = target.version;
  const auto done = [&](const SlurmModel::Refused& refused) {
    return refused ? slurm_answer(*refused, Value::object(), version)
                   : slurm_answer(200, Value::object(), version);
  };
  const bool creates = target.kind == "new";
  const bool removes = target.method == Method::kDelete;
  const std::string name = target.rest.empty() ? "" : target.rest[0];
  if (!caller.admin) {
    return done(SlurmRefusal{2010, "Invalid user id",
                             creates ? "Failure to create node" : "Failure to update node " + name,
                             creates ? "_create_node" : "_update_node"});
  }
  if (creates && version >= 44) {
    return done(model_.create_node(text_in(body, "node_conf").value_or("")));
  }
  if (target.kind == "node" && removes) return done(model_.delete_node(name));
  if (target.kind == "node" || target.kind == "nodes") {
    const SlurmModel::NodeChange change{
        .state = first_in(body, "state"),
        .reason = text_in(body, "reason"),
        .comment = text_in(body, "comment"),
        .extra = text_in(body, "extra"),
        .address = first_in(body, "address"),
        .weight = number_in(body, "weight"),
        .features = body.find("features") == nullptr ? std::nullopt
                                                     : std::optional(names_in(body, "features"))};
    std::vector<std::string> names{name};
    if (target.kind == "nodes") names = names_in(body, "name");
    if (names.empty()) names.emplace_back();
    // slurmrestd makes one hostlist of them, and slurmctld stops at the first that it does not
    // know.
    std::sort(names.begin(), names.end());
    for (const std::string& one : names) {
      if (const auto refused = model_.update_node(one, change)) return done(refused);
    }
    return done(std::nullopt);
  }
  if (target.kind == "reservation" && removes) return done(model_.delete_reservation(name));
  if (target.kind == "reservation" && version >= 43) {
    SlurmReservation made{text_in(body, "name").value_or(""),
                          names_in(body, "node_list"),
                          first_in(body, "users").value_or(""),
                          number_in(body, "start_time").value_or(0),
                          0,
                          names_in(body, "flags")};
    made.end = made.start + 60 * number_in(body, "duration").value_or(60);
    return done(model_.write_reservation(std::move(made)));
  }
  if (target.kind == "partition" && removes && version >= 45) {
    return done(model_.delete_partition(name));
  }
  if (target.kind == "partitions" && version >= 45) {
    const Value* const made = body.at_pointer("/partitions/0");
    if (made == nullptr) return no_such_path();
    const Value* const nodes = made->find("nodes");
    return done(model_.create_partition(
        {.name = text_in(*made, "name").value_or(""),
         .feature = "",
         .from_rest = true,
         .names = nodes == nullptr ? std::vector<std::string>() : names_in(*nodes, "configured")}));
  }
  return no_such_path();
}

Response SlurmApi::write_job(const Target& target, const Value& body, const Caller& caller) {
  if (target.method == Method::kDelete) return cancel(target, body);
  if (target.rest.empty()) return no_such_path();
  if (target.rest[0] == "submit" || target.rest[0] == "allocate") {
    return submit(target, body, caller);
  }
  const auto id = parse_integer<std::uint32_t>(target.rest[0]);
  const Value* const hold = body.find("hold");
  const SlurmModel::JobChange change{.hold = hold == nullptr ? std::nullopt : hold->as_bool(),
                                     .admin_comment = text_in(body, "admin_comment"),
                                     .comment = text_in(body, "comment"),
                                     .extra = text_in(body, "extra"),
                                     .time_limit = number_in(body, "time_limit"),
                                     .nodes_wanted = whole_in(body, "nodes"),
                                     .memory_per_node = number_in(body, "memory_per_node"),
                                     .priority = number_in(body, "priority"),
                                     .partition = text_in(body, "partition"),
                                     .feature = text_in(body, "constraints"),
                                     .account = text_in(body, "account"),
                                     .qos = text_in(body, "qos"),
                                     .excluded = changed_names_in(body, "excluded_nodes")};
  const SlurmJob* const job = model_.job(id.value_or(0));
  const auto refused =
      job != nullptr && !may_change(*job, caller)
          ? SlurmModel::Refused(SlurmRefusal{2010, "Invalid user id", "Job update requested failed",
                                             "slurm_update_job2()"})
          : model_.update_job(id.value_or(0), change, caller.admin);
  Value contents = Value::object({{"results", nullptr}});
  return refused ? slurm_answer(*refused, std::move(contents), target.version)
                 : slurm_answer(200, std::move(contents), target.version);
}

Response SlurmApi::submit(const Target& target, const Value& body, const Caller& caller) {
  const bool now = target.rest[0] == "allocate";
  std::vector<SlurmJob> parts;
  if (const Value* const all = body.find("jobs"); all != nullptr && !now) {
    for (const Value& one : *all) {
      if (is_external(one)) parts.push_back(job_in(one, caller.user, caller.admin && !now));
    }
    if (parts.size() != all->size()) parts.clear();
  } else if (const Value* const wanted = body.find("job"); wanted && is_external(*wanted)) {
    parts.push_back(job_in(*wanted, caller.user, caller.admin && !now));
  }
  if (parts.empty()) {
    return slurm_answer(
        SlurmRefusal{9000, "Query empty or not RFC7320 compliant",
                     "Populated \"script\" field is required for job submission", "_job_post"},
        Value::object(), target.version);
  }
  SlurmJob& job = parts.front();
  if (!caller.admin && !job.admin_comment.empty()) {
    return slurm_answer(SlurmRefusal{2002, "Access/permission denied",
                                     "Job allocation request failed", "_job_post_allocate"},
                        Value::object(), target.version);
  }
  const auto refused = now                 ? model_.allocate_now(job)
                       : parts.size() == 1 ? model_.submit(job)
                                           : model_.submit_het(parts);
  if (refused) return slurm_answer(*refused, Value::object(), target.version);
  Value contents = Value::object({{"job_id", job.id}, {"job_submit_user_msg", ""}});
  if (!now) contents["step_id"] = "batch";
  if (!job.held && !now && model_.must_wait(job)) {
    contents["warnings"] = Value::array({slurm_warning(
        "Required node not available (down, drained or reserved)", "slurm_submit_batch_job()")});
  }
  if (job.held) {
    contents["warnings"] = Value::array({slurm_warning(
        "Job is in held state, pending scheduler release", "slurm_submit_batch_job()")});
  }
  return slurm_answer(200, std::move(contents), target.version);
}

Response SlurmApi::cancel(const Target& target, const Value& body) {
  std::vector<std::string> ids = target.rest;
  if (target.kind == "jobs") ids = names_in(body, "jobs");
  Value status = Value::array();
  for (const std::string& id : ids) {
    const auto refused = model_.cancel(parse_integer<std::uint32_t>(id).value_or(0));
    if (!refused) continue;
    status.push_back(Value::object({{"error", Value::object({{"string", refused->error},
                                                             {"code", refused->number},
                                                             {"message", refused->error}})},
                                    {"step_id", id},
                                    {"job_id", slurm_no_number()}}));
  }
  return slurm_answer(200, Value::object({{"status", std::move(status)}}), target.version);
}

}  // namespace mainspring::sim
