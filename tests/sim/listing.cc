#include "sim/listing.h"

#include <fmt/format.h>

#include <optional>
#include <utility>

#include "base/base64.h"
#include "base/text.h"
#include "sim/meta.h"
#include "sim/refusals.h"
#include "sim/selector.h"

namespace mainspring::sim {
namespace {

using json::Value;

Error list_options_error(kube::StatusCause cause) {
  return invalid(Subject{"", "meta.k8s.io", "ListOptions"}, {std::move(cause)});
}

struct Token {
  std::uint64_t version = 0;
  std::string after;  // The last key that was given.
};

std::string write_token(const Token& token) {
  return base64url_encode(to_text(Value::object(
      {{"v", "meta.k8s.io/v1"}, {"rv", token.version}, {"start", token.after + '\0'}})));
}

Result<Token> read_token(const std::string& text) {
  const auto invalid_token = [] {
    return fail(bad_request("invalid continue token: continue key is not valid"));
  };
  const auto decoded = base64url_decode(text);
  if (!decoded) return invalid_token();
  const auto value = json::parse(*decoded);
  if (!value) return invalid_token();
  const Value* version = value->find("rv");
  std::string after(text_at(*value, "/start"));
  if (version == nullptr || after.empty()) return invalid_token();
  if (after.back() == '\0') after.pop_back();
  return Token{version->as_uint().value_or(0), std::move(after)};
}

// After a token has expired the rest can still be had, as it is now.
constexpr std::string_view kTokenExpired =
    "The provided continue parameter is too old to display a consistent list result. You can start "
    "a new list without the continue parameter, or use the continue token in this response to "
    "retrieve the remainder of the results. Continuing with the provided token results in an "
    "inconsistent list - objects that were created, modified, or deleted between the time the "
    "first chunk was returned and now may show up in the list.";

struct Snapshot {
  Objects objects;
  std::uint64_t version = 0;
  std::string after;
};

Result<Snapshot> snapshot(const Storage& storage, const Kind& kind, const http::Url& url) {
  const std::string collection = kind.collection();
  const std::string version_text = url.query_value("resourceVersion").value_or("");
  MS_TRY(const std::uint64_t version, parse_version(version_text));
  const std::string token_text = url.query_value("continue").value_or("");
  if (!token_text.empty()) {
    MS_TRY(Token token, read_token(token_text));
    if (!version_text.empty() && version != 0) {
      return fail(bad_request("specifying resource version is not allowed when using continue"));
    }
    if (token.version == 0) {
      return Snapshot{storage.all(collection), storage.version(), token.after};
    }
    auto objects = storage.all_at(collection, token.version);
    if (!objects) return fail(expired(std::string(kTokenExpired)));
    return Snapshot{*std::move(objects), token.version, token.after};
  }
  if (version > storage.version()) return fail(too_large_version(version_text, storage.version()));
  const bool limited = url.query_value("limit").value_or("0") != "0";
  const std::string match = url.query_value("resourceVersionMatch").value_or("");
  if (version != 0 && (match == "Exact" || (match.empty() && limited))) {
    auto objects = storage.all_at(collection, version);
    if (!objects) return fail(expired("The resourceVersion for the provided list is too old."));
    return Snapshot{*std::move(objects), version, ""};
  }
  return Snapshot{storage.all(collection), storage.version(), ""};
}

}  // namespace

Result<std::uint64_t> parse_version(const std::string& text) {
  if (text.empty()) return 0;
  const auto version = parse_integer<std::uint64_t>(text);
  if (version) return *version;
  return fail(bad_request(fmt::format(
      "invalid resource version: resourceVersion: Invalid value: \"{0}\": strconv.ParseUint: "
      "parsing \"{0}\": invalid syntax",
      text)));
}

Result<void> check_list_options(const http::Url& url, bool watch) {
  const std::string match = url.query_value("resourceVersionMatch").value_or("");
  const std::string version = url.query_value("resourceVersion").value_or("");
  const auto initial = url.query_value("sendInitialEvents");
  const auto refusal = [](std::string field, std::string_view why) {
    return fail(list_options_error(not_permitted(std::move(field), why)));
  };
  if (initial && !watch) {
    return refusal("sendInitialEvents", "sendInitialEvents is forbidden for list");
  }
  if (initial && match != "NotOlderThan") {
    return refusal("resourceVersionMatch",
                   "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
  }
  if (watch && !initial && !match.empty()) {
    return refusal(
        "resourceVersionMatch",
        "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided");
  }
  if (match.empty() || watch) return {};
  if (version.empty()) {
    return refusal("resourceVersionMatch",
                   "resourceVersionMatch is forbidden unless resourceVersion is provided");
  }
  if (!url.query_value("continue").value_or("").empty()) {
    return refusal("resourceVersionMatch",
                   "resourceVersionMatch is forbidden when continue is provided");
  }
  if (match != "Exact" && match != "NotOlderThan") {
    return fail(list_options_error(unsupported("resourceVersionMatch", to_text(Value(match)),
                                               "\"Exact\", \"NotOlderThan\", \"\"")));
  }
  if (match == "Exact" && version == "0") {
    return refusal("resourceVersionMatch",
                   "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
  }
  return {};
}

Value render(const Kind& kind, const Value& object) {
  Value out = object;
  out["apiVersion"] = kind.resource.api_version();
  out["kind"] = kind.resource.kind;
  return out;
}

Result<Value> list_objects(const Storage& storage, const Kind& kind, const std::string& ns,
                           const http::Url& url) {
  MS_CHECK(check_list_options(url, false));
  MS_TRY(const Selector selector,
         Selector::parse(kind, url.query_value("labelSelector").value_or(""),
                         url.query_value("fieldSelector").value_or("")));
  MS_TRY(const Snapshot from, snapshot(storage, kind, url));
  std::size_t limit =
      parse_integer<std::size_t>(url.query_value("limit").value_or("0")).value_or(0);
  // Answered from memory, where the real server turns no pages.
  if (url.query_value("resourceVersion") == "0") limit = 0;

  Value items = Value::array();
  std::size_t more = 0;
  std::string last;
  for (auto it = from.objects.upper_bound(from.after); it != from.objects.end(); ++it) {
    const Value& object = *it->second;
    if (!ns.empty() && namespace_of(object) != ns) continue;
    // Whether what follows is selected is not known before it is read.
    if (limit != 0 && items.size() == limit) {
      ++more;
      continue;
    }
    last = it->first;
    if (!selector.matches(object)) continue;
    Value& item = items.push_back(render(kind, object));
    if (!kind.custom) {
      item.erase("apiVersion");
      item.erase("kind");
    }
  }
  Value meta = Value::object({{"resourceVersion", std::to_string(from.version)}});
  if (kind.custom) meta["continue"] = "";
  if (more > 0) {
    meta["continue"] = write_token({from.version, last});
    if (selector.empty()) meta["remainingItemCount"] = more;
  }
  return Value::object({{"kind", kind.resource.kind + "List"},
                        {"apiVersion", kind.resource.api_version()},
                        {"metadata", std::move(meta)},
                        {"items", std::move(items)}});
}

}  // namespace mainspring::sim
