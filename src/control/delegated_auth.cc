#include "control/delegated_auth.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/digest.h"
#include "base/text.h"
#include "json/fields.h"

namespace mainspring::control {

using json::Value;

namespace {

struct TokenAnswer {
  bool authenticated = false;
  UserInfo user;
  std::vector<std::string> audiences;
  std::string error;
};

constexpr auto json_fields(json::Tag<TokenAnswer>) {
  return json::fields(
      json::group("status", json::field("authenticated", &TokenAnswer::authenticated),
                  json::field("user", [](json::Reader& r, TokenAnswer& a) { read(r, a.user); }),
                  json::field("audiences", &TokenAnswer::audiences),
                  json::field("error", &TokenAnswer::error)));
}

struct AccessAnswer {
  bool allowed = false;
  std::string reason;
  std::string evaluation_error;
};

constexpr auto json_fields(json::Tag<AccessAnswer>) {
  return json::fields(json::group("status", json::field("allowed", &AccessAnswer::allowed),
                                  json::field("reason", &AccessAnswer::reason),
                                  json::field("evaluationError", &AccessAnswer::evaluation_error)));
}

Value list_of(const std::vector<std::string>& texts) {
  Value list = Value::array();
  for (const std::string& text : texts) list.push_back(text);
  return list;
}

void set_if(Value& object, std::string_view key, const std::string& text) {
  if (!text.empty()) object.set(key, text);
}

Value review_of(const UserInfo& user, const AccessAttributes& wanted) {
  Value spec = Value::object({{"user", user.username}});
  set_if(spec, "uid", user.uid);
  if (!user.groups.empty()) spec.set("groups", list_of(user.groups));
  for (const auto& [key, values] : user.extra) spec["extra"].set(key, list_of(values));
  if (!wanted.path.empty()) {
    spec.set("nonResourceAttributes",
             Value::object({{"path", wanted.path}, {"verb", wanted.verb}}));
  } else {
    Value attributes = Value::object({{"verb", wanted.verb}, {"resource", wanted.resource}});
    set_if(attributes, "namespace", wanted.ns);
    set_if(attributes, "group", wanted.group);
    set_if(attributes, "version", wanted.version);
    set_if(attributes, "subresource", wanted.subresource);
    set_if(attributes, "name", wanted.name);
    spec.set("resourceAttributes", std::move(attributes));
  }
  return Value::object({{"apiVersion", "authorization.k8s.io/v1"},
                        {"kind", "SubjectAccessReview"},
                        {"spec", std::move(spec)}});
}

// The API server may answer for any audience it knows: one of ours must be among them, else the
// token was made for somebody else.
bool audience_fits(const std::vector<std::string>& wanted, const std::vector<std::string>& found) {
  if (wanted.empty()) return true;
  return std::any_of(found.begin(), found.end(), [&](const std::string& audience) {
    return std::find(wanted.begin(), wanted.end(), audience) != wanted.end();
  });
}

Result<UserInfo> user_in(TokenAnswer answer, const std::vector<std::string>& audiences) {
  if (!answer.authenticated || answer.user.username.empty()) {
    return fail(Code::kUnauthorized, answer.error.empty()
                                         ? "the token is not valid"
                                         : "the token is not valid: " + answer.error);
  }
  if (!audience_fits(audiences, answer.audiences)) {
    return fail(Code::kUnauthorized,
                fmt::format("the token is not meant for {}", join(audiences, " or ")));
  }
  return std::move(answer.user);
}

Result<void> permission_in(const AccessAnswer& answer, const UserInfo& user,
                           const AccessAttributes& wanted) {
  if (answer.allowed) return {};
  std::string text = fmt::format("user {} may not {}", quoted(user.username), wanted.to_string());
  const std::string& why = answer.reason.empty() ? answer.evaluation_error : answer.reason;
  if (!why.empty()) text += ": " + why;
  return fail(Code::kForbidden, std::move(text));
}

}  // namespace

bool read(json::Reader& reader, UserInfo& out) {
  return reader.object([&](std::string_view key) {
    if (key == "username") {
      reader.read(out.username);
    } else if (key == "uid") {
      reader.read(out.uid);
    } else if (key == "groups") {
      json::read(reader, out.groups);
    } else if (key == "extra") {
      out.extra.clear();
      reader.object([&](std::string_view name) {
        json::read(reader, out.extra.emplace_back(name, std::vector<std::string>()).second);
      });
    }
  });
}

std::string AccessAttributes::to_string() const {
  if (!path.empty()) return fmt::format("{} path {}", verb, quoted(path, 256));
  std::string text = fmt::format("{} resource {}", verb, resource);
  if (!group.empty()) text += "." + group;
  if (!subresource.empty()) text += "/" + subresource;
  if (!name.empty()) text += " " + quoted(name, 256);
  if (!ns.empty()) text += " in namespace " + quoted(ns);
  return text;
}

template <class T>
void DelegatedAuth::keep(Answers<T>& answers, std::string key, Result<T> answer, Duration ttl) {
  const TimePoint now = client_.clock().now();
  if (answers.size() >= options_.max_answers) {
    std::erase_if(answers, [now](const auto& entry) { return entry.second.until <= now; });
  }
  if (answers.size() >= options_.max_answers) answers.clear();
  answers.insert_or_assign(std::move(key), Kept<T>{std::move(answer), now + ttl});
}

template <class T>
const Result<T>* DelegatedAuth::find(const Answers<T>& answers, const std::string& key) const {
  const auto found = answers.find(key);
  if (found == answers.end() || found->second.until <= client_.clock().now()) return nullptr;
  return &found->second.answer;
}

Task<Result<std::string>> DelegatedAuth::post(std::string path, Value review, std::string what) {
  kube::Call call;
  call.method = http::Method::kPost;
  call.path = std::move(path);
  call.body = json::to_text(review);
  call.what = std::move(what);
  call.timeout = options_.timeout;
  // A review changes nothing: asking twice is asking once.
  call.idempotent = true;
  MS_CO_TRY(http::Response response, co_await client_.send(std::move(call)));
  co_return std::move(response.body);
}

Task<Result<UserInfo>> DelegatedAuth::authenticate(Secret token,
                                                   std::vector<std::string> audiences) {
  if (token.empty()) co_return fail(Code::kUnauthorized, "the token is empty");
  Value spec = Value::object({{"token", token.reveal()}});
  if (!audiences.empty()) spec.set("audiences", list_of(audiences));
  std::string key(as_text(sha256(json::to_text(spec))));
  if (const auto* known = find(tokens_, key)) co_return *known;
  MS_CO_TRY(const std::string text,
            co_await post("/apis/authentication.k8s.io/v1/tokenreviews",
                          Value::object({{"apiVersion", "authentication.k8s.io/v1"},
                                         {"kind", "TokenReview"},
                                         {"spec", std::move(spec)}}),
                          "review a token"));
  json::Reader reader;
  MS_CO_TRY(TokenAnswer answer, json::decode<TokenAnswer>(reader, text));
  Result<UserInfo> user = user_in(std::move(answer), audiences);
  keep(tokens_, std::move(key), user, options_.token_ttl);
  co_return user;
}

Task<Result<void>> DelegatedAuth::authorize(UserInfo user, AccessAttributes attributes) {
  Value review = review_of(user, attributes);
  std::string key(as_text(sha256(json::to_text(review))));
  if (const auto* known = find(permissions_, key)) co_return *known;
  MS_CO_TRY(const std::string text,
            co_await post("/apis/authorization.k8s.io/v1/subjectaccessreviews", std::move(review),
                          "review an access"));
  json::Reader reader;
  MS_CO_TRY(const AccessAnswer answer, json::decode<AccessAnswer>(reader, text));
  Result<void> permission = permission_in(answer, user, attributes);
  keep(permissions_, std::move(key), permission,
       permission ? options_.allow_ttl : options_.deny_ttl);
  co_return permission;
}

}  // namespace mainspring::control
