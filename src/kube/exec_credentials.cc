#include "kube/exec_credentials.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/rfc3339.h"
#include "base/text.h"
#include "json/fields.h"
#include "json/value.h"
#include "kube/token_credentials.h"
#include "net/run_process.h"

namespace mainspring::kube {
namespace {

constexpr std::string_view kExecInfo = "KUBERNETES_EXEC_INFO";

// A refusal this soon after a run is about what was in use before it.
constexpr Duration kFresh = seconds(5);
// Renewed this long before it expires, so that no request arrives with an expired one.
constexpr Duration kMaxMargin = seconds(30);
constexpr std::size_t kErrorTail = 512;

struct Answer {
  std::string api_version;
  std::string kind;
  std::string token;
  std::string cert;
  std::string key;
  std::string expires;
};

constexpr auto json_fields(json::Tag<Answer>) {
  return json::fields(json::field("apiVersion", &Answer::api_version),
                      json::field("kind", &Answer::kind),
                      json::group("status", json::field("token", &Answer::token),
                                  json::field("clientCertificateData", &Answer::cert),
                                  json::field("clientKeyData", &Answer::key),
                                  json::field("expirationTimestamp", &Answer::expires)));
}

std::string_view name_of(std::string_view variable) {
  return variable.substr(0, variable.find('='));
}

void set_variable(std::vector<std::string>& environment, std::string_view name,
                  std::string_view value) {
  std::erase_if(environment, [&](const std::string& entry) { return name_of(entry) == name; });
  environment.push_back(fmt::format("{}={}", name, value));
}

std::string_view find_variable(const std::vector<std::string>& environment, std::string_view name) {
  for (const std::string& entry : environment) {
    if (name_of(entry) == name && entry.size() > name.size()) {
      return std::string_view(entry).substr(name.size() + 1);
    }
  }
  return {};
}

// The end of what it complained about, printable.
std::string tail_of(std::string_view errors) {
  const std::string_view text = trim(errors);
  if (text.empty()) return "it printed no reason to standard error";
  const std::size_t size = std::min(text.size(), kErrorTail);
  return "it printed " + quoted(text.substr(text.size() - size), kErrorTail);
}

}  // namespace

Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version) {
  json::Reader reader;
  MS_TRY(Answer answer, json::decode<Answer>(reader, text));
  if (answer.kind != "ExecCredential") {
    return fail(Code::kInvalid, "kind is not ExecCredential");
  }
  if (answer.api_version != api_version) {
    return fail(Code::kInvalid, fmt::format("apiVersion is {} where {} was asked for",
                                            quoted(answer.api_version), api_version));
  }
  ExecCredential credential{Secret(std::move(answer.token)), std::move(answer.cert),
                            Secret(std::move(answer.key)), std::nullopt};
  if (credential.token.empty() && credential.cert_pem.empty() && credential.key_pem.empty()) {
    return fail(Code::kInvalid, "status has neither a token nor a client certificate");
  }
  if (credential.cert_pem.empty() != credential.key_pem.empty()) {
    return fail(Code::kInvalid,
                "status has one of clientCertificateData and clientKeyData: both "
                "are needed");
  }
  if (!credential.token.empty()) MS_CHECK(check_token(credential.token, "status.token"));
  if (!answer.expires.empty()) {
    auto time = parse_rfc3339(answer.expires);
    if (!time) return fail(Code::kInvalid, "status.expirationTimestamp is no time");
    credential.expires = *time;
  }
  return credential;
}

// Marks the one run under way; its end, also by cancellation, wakes those who wait for it.
class ExecCredentials::Running {
 public:
  explicit Running(ExecCredentials* owner) : owner_(owner) { owner_->running_ = true; }
  ~Running() {
    owner_->running_ = false;
    owner_->ended_.notify_all();
  }
  Running(const Running&) = delete;
  Running& operator=(const Running&) = delete;

 private:
  ExecCredentials* owner_;
};

std::string ExecCredentials::name() const {
  return "credential plugin " + quoted(options_.plugin.command);
}

bool ExecCredentials::usable() const {
  return credential_ && (!renew_at_ || options_.clock->now() < *renew_at_);
}

net::Task<Result<void>> ExecCredentials::add_to(http::Headers* headers) {
  while (!usable()) {
    if (!running_) {
      MS_CO_CHECK(co_await run_plugin());
      break;  // Even if it has expired already: a clock may be wrong, and the server decides.
    }
    const std::uint64_t before = runs_ended_;
    MS_CO_CHECK(co_await ended_.wait());
    if (runs_ended_ == before) continue;  // Whoever ran it was cancelled.
    if (last_error_) co_return fail(*last_error_);
    break;
  }
  if (!credential_->token.empty()) {
    headers->set("Authorization", "Bearer " + credential_->token.reveal());
  }
  co_return Result<void>();
}

net::Task<Result<void>> ExecCredentials::run_plugin() {
  const Running running(this);
  auto answer = co_await ask_plugin();
  auto accepted = answer ? accept(*std::move(answer)) : Result<void>(fail(answer.error()));
  const net::Context context = co_await net::current_context();
  if (context.scope != nullptr && context.scope->cancelled()) co_return accepted;
  ++runs_ended_;
  last_error_.reset();
  if (!accepted) {
    last_error_ = std::move(accepted).error().with_context(name());
    co_return fail(*last_error_);
  }
  co_return Result<void>();
}

std::vector<std::string> ExecCredentials::plugin_environment() const {
  std::vector<std::string> environment = options_.environment;
  for (const auto& [name, value] : options_.plugin.env) set_variable(environment, name, value);
  json::Value info = json::Value::object(
      {{"apiVersion", options_.plugin.api_version}, {"kind", "ExecCredential"}});
  info["spec"]["interactive"] = false;
  if (!options_.cluster.is_null()) info["spec"]["cluster"] = options_.cluster;
  set_variable(environment, kExecInfo, json::to_text(info));
  return environment;
}

net::Task<Result<ExecCredential>> ExecCredentials::ask_plugin() {
  net::ProcessOptions process;
  process.environment = plugin_environment();
  auto program =
      net::find_program(options_.plugin.command, find_variable(process.environment, "PATH"));
  if (!program) {
    const std::string hint(trim(options_.plugin.install_hint));
    if (hint.empty()) co_return fail(std::move(program).error());
    co_return fail(Code::kNotFound, program.error().message() + ". " + sanitize_utf8(hint));
  }
  process.program = *std::move(program);
  process.arguments = options_.plugin.args;
  process.timeout = options_.timeout;
  MS_CO_TRY(const net::ProcessResult result, co_await net::run_process(std::move(process)));
  if (result.signal != 0) {
    co_return fail(Code::kTransient,
                   fmt::format("ended by signal {}; {}", result.signal, tail_of(result.errors)));
  }
  if (result.exit_code != 0) {
    co_return fail(Code::kTransient, fmt::format("ended with exit code {}; {}", result.exit_code,
                                                 tail_of(result.errors)));
  }
  co_return with_context(parse_exec_credential(result.output, options_.plugin.api_version),
                         "reading what it printed");
}

Result<void> ExecCredentials::accept(ExecCredential credential) {
  const bool new_certificate = !credential.cert_pem.empty() &&
                               (!credential_ || credential_->cert_pem != credential.cert_pem ||
                                !(credential_->key_pem == credential.key_pem));
  if (new_certificate && options_.on_certificate) {
    MS_CHECK(options_.on_certificate(credential.cert_pem, credential.key_pem));
  }
  obtained_ = options_.clock->now();
  renew_at_.reset();
  if (credential.expires) {
    const Duration left = *credential.expires - options_.clock->wall_now();
    renew_at_ = obtained_ + left - std::clamp<Duration>(left / 10, Duration(0), kMaxMargin);
  }
  credential_ = std::move(credential);
  return {};
}

bool ExecCredentials::refresh() {
  if (running_) return true;
  if (credential_ && options_.clock->now() >= obtained_ + kFresh) renew_at_ = obtained_;
  return true;
}

}  // namespace mainspring::kube
