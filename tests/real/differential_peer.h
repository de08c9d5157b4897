// tests/real/differential_peer.h
//
// One of the two servers that differential.cc compares: sends calls, and gives answers a form in
// which two servers can be compared. Owned by a seed's run; lives on the caller's thread.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <regex>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "http/message.h"
#include "http/url.h"
#include "json/value.h"

namespace mainspring {

using http::Method;
using http::Request;
using http::Response;
using json::Value;

// One call, before it is known whom it is made to. In path and body "$rv" and "$uid" stand for what
// that server said last about the object, "$uid(PATH)" for another's uid, "$start" for the version
// at which the seed began and "$continue" for the rest of the last page of that collection.
struct Call {
  Method method = Method::kGet;
  std::string path;
  std::string body;
  std::string type = "application/json";
};

// What is chance or time (uids, versions, names that a server made up) is numbered in the order of
// its appearance.
class Peer {
 public:
  virtual ~Peer() = default;
  // All at the same time.
  virtual std::vector<Result<Response>> exchange(std::vector<Request> requests) = 0;

  // Numbers what comes from here on anew.
  void start() { numbers_.clear(); }

  std::string ask(const Call& call) { return ask_all({call}).front(); }

  std::vector<std::string> ask_all(const std::vector<Call>& calls) {
    return texts_of(calls, exchange(requests_of(calls)));
  }

  std::vector<Request> requests_of(const std::vector<Call>& calls) {
    std::vector<Request> requests;
    for (const Call& call : calls) requests.push_back(request_of(call));
    return requests;
  }

  std::vector<std::string> texts_of(const std::vector<Call>& calls,
                                    const std::vector<Result<Response>>& answers) {
    std::vector<std::string> texts;
    for (std::size_t i = 0; i < calls.size(); ++i) {
      texts.push_back(text_of(calls[i].path, answers[i]));
    }
    return texts;
  }

 protected:
  explicit Peer(std::string base) : base_(std::move(base)) {}

 private:
  // The object or collection a path is about.
  static std::string subject_of(std::string path) {
    path = path.substr(0, path.find('?'));
    for (const std::string_view end : {"/status", "/scale"}) {
      if (path.ends_with(end)) path.resize(path.size() - end.size());
    }
    return path;
  }

  static void replace(std::string& text, std::string_view from, const std::string& to) {
    for (auto at = text.find(from); at != std::string::npos; at = text.find(from, at + to.size())) {
      text.replace(at, from.size(), to);
    }
  }

  Request request_of(Call call) {
    const std::string subject = subject_of(call.path);
    replace(call.path, "$start", version_["/api/v1/namespaces"]);
    replace(call.path, "$continue", continue_[subject]);
    static const std::regex kOther(R"(\$uid\(([^)]*)\))");
    std::smatch found;
    while (std::regex_search(call.body, found, kOther)) {
      call.body = found.prefix().str() + uid_[found[1].str()] + found.suffix().str();
    }
    replace(call.body, "$rv", version_[subject]);
    replace(call.body, "$uid", uid_[subject]);
    Request request;
    request.method = call.method;
    request.url = *http::Url::parse(base_ + call.path);
    request.body = call.body;
    request.headers.set("User-Agent", "diff/1");
    if (!call.body.empty()) request.headers.set("Content-Type", call.type);
    return request;
  }

  // The status, then each document of the body.
  std::string text_of(const std::string& path, const Result<Response>& answer) {
    if (!answer) return "no answer: " + answer.error().to_string();
    std::string text = fmt::format("{}\n", answer->status);
    for (const std::string_view line : split(answer->body, '\n')) {
      if (line.empty()) continue;
      auto body = json::parse(line);
      if (!body) {
        text += std::string(line) + "\n";
        continue;
      }
      remember(path, *body);
      normalise(*body);
      text += hide_generated(to_text(*body, {.indent = 1, .sort_keys = true})) + "\n";
    }
    return text;
  }

  void remember(const std::string& path, const Value& body) {
    const std::string subject = subject_of(path);
    const auto keep = [&](std::map<std::string, std::string>& where, std::string_view pointer) {
      const Value* found = body.at_pointer(pointer);
      if (found != nullptr) where[subject] = found->as_string().value_or("");
    };
    if (body.find("items") != nullptr) {
      keep(continue_, "/metadata/continue");
    } else {
      keep(version_, "/metadata/resourceVersion");
      keep(uid_, "/metadata/uid");
    }
  }

  std::string number(const char* what, std::string_view text) {
    auto& known = numbers_[what];
    const auto [it, added] = known.emplace(text, known.size() + 1);
    return fmt::format("<{} {}>", what, it->second);
  }

  // Names that a server made up, wherever they stand.
  std::string hide_generated(std::string text) {
    static const std::regex kGenerated("gen-[bcdfghjklmnpqrstvwxz2456789]{5}");
    std::smatch found;
    while (std::regex_search(text, found, kGenerated)) {
      text = found.prefix().str() + number("name", found.str()) + found.suffix().str();
    }
    return text;
  }

  // Some refusals end in a comparison of Go structs.
  static void cut_difference(Value& body) {
    const Value* message = body.find("message");
    if (message == nullptr) return;
    const std::string text(message->as_string().value_or(""));
    body["message"] = text.substr(0, text.find("\n@@"));
  }

  void normalise_status(Value& body) {
    Value* details = body.find("details");
    std::vector<std::string> causes;
    if (Value* list = details == nullptr ? nullptr : details->find("causes")) {
      for (Value& cause : *list) {
        cut_difference(cause);
        causes.push_back(to_text(cause, {.sort_keys = true}));
      }
      // Their order is that of a Go map, and some come twice.
      std::sort(causes.begin(), causes.end());
      causes.erase(std::unique(causes.begin(), causes.end()), causes.end());
      *list = Value::array();
      for (const std::string& cause : causes) list->push_back(cause);
    }
    cut_difference(body);
    const Value* reason = body.find("reason");
    const Value* message = body.find("message");
    // Such messages list the causes, or quote a decoder.
    if (causes.size() > 1 || (reason != nullptr && *reason == Value("BadRequest"))) {
      body.erase("message");
    } else if (message != nullptr) {
      static const std::regex kVersion("record \\([0-9]+\\)|precondition \\([0-9]+\\)");
      std::string text(message->as_string().value_or(""));
      text = std::regex_replace(text, kUid, "<uid>");
      body["message"] = std::regex_replace(text, kVersion, "<version>");
    }
  }

  void normalise(Value& body) {
    if (body.find("kind") != nullptr && *body.find("kind") == Value("Status")) {
      normalise_status(body);
    }
    // A list's version is the whole server's, which others write to.
    if (body.find("items") != nullptr) body["metadata"].erase("resourceVersion");
    walk(body);
  }

  void walk(Value& value) {
    for (Value& item : value) walk(item);
    std::vector<std::string> names;
    for (const auto [name, member] : value.members()) names.emplace_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names) {
      Value& member = *value.find(name);
      const auto text = member.as_string();
      if (name == "managedFields") {
        normalise_managers(member);
      } else if (name == "uid" && text) {
        member = number("uid", *text);
      } else if (name == "resourceVersion" && text) {
        member = number("version", *text);
      } else if ((name.ends_with("Timestamp") || name == "lastTransitionTime") && text) {
        member = "<time>";
      } else if (name == "continue" && text && !text->empty()) {
        member = "<token>";
      } else if (name.starts_with("clusterIP")) {
        normalise_addresses(member);
      } else {
        walk(member);
      }
    }
  }

  void normalise_addresses(Value& value) {
    for (Value& item : value) normalise_addresses(item);
    const auto text = value.as_string();
    if (text && text->starts_with("10.")) value = number("address", *text);
  }

  // Ordered by time in the first place, which may tick between two calls; and an apply that changes
  // nothing but ownership sometimes leaves it out.
  void normalise_managers(Value& managers) {
    std::vector<std::string> texts;
    for (Value& manager : managers) {
      manager.erase("time");
      std::string text = to_text(manager, {.sort_keys = true});
      std::smatch uid;
      while (std::regex_search(text, uid, kUid)) {
        text = uid.prefix().str() + number("uid", uid.str()) + uid.suffix().str();
      }
      texts.push_back(text);
    }
    std::sort(texts.begin(), texts.end());
    managers = Value::array();
    for (const std::string& text : texts) managers.push_back(*json::parse(text));
  }

  inline static const std::regex kUid{"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}"};
  std::string base_;
  std::map<std::string, std::string> version_;
  std::map<std::string, std::string> uid_;
  std::map<std::string, std::string> continue_;
  std::map<std::string, std::map<std::string, std::size_t, std::less<>>> numbers_;
};

}  // namespace mainspring
