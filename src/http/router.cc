#include "http/router.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstdlib>
#include <optional>

#include "http/status.h"

namespace mainspring::http {
namespace {

[[noreturn]] void refuse_pattern(std::string_view pattern, std::string_view why) {
  fmt::print(stderr, "route \"{}\": {}\n", pattern, why);
  std::abort();
}

// Takes the first segment off "/a/b"; nullopt when nothing is left.
std::optional<std::string_view> next_segment(std::string_view& path) {
  if (path.empty()) return std::nullopt;
  path.remove_prefix(1);
  const auto end = path.find('/');
  const std::string_view segment = path.substr(0, end);
  path = end == std::string_view::npos ? std::string_view() : path.substr(end);
  return segment;
}

bool is_dots(std::string_view segment) { return segment == "." || segment == ".."; }

// Collects what a stream handler writes.
class CollectingWriter final : public ResponseWriter {
 public:
  Task<Result<void>> start(int status, Headers headers) override {
    response.status = status;
    response.headers = std::move(headers);
    co_return Result<void>();
  }
  Task<Result<void>> write(std::string_view data) override {
    response.body.append(data);
    co_return Result<void>();
  }
  Response response;
};

}  // namespace

struct Router::Route {
  Method method;
  std::vector<std::string> names;
  Handler handler;
  StreamHandler stream;
};

struct Router::Node {
  std::vector<std::pair<std::string, std::unique_ptr<Node>>> fixed;
  std::unique_ptr<Node> named;
  std::unique_ptr<Node> rest;
  std::vector<Route> routes;

  Node* child(std::string_view segment) {
    for (auto& [text, node] : fixed) {
      if (text == segment) return node.get();
    }
    return nullptr;
  }
  // Depth is that of the pattern tree, so a long path cannot exhaust the stack.
  const Node* find(std::string_view path, std::vector<std::string>& values) const;
};

const Router::Node* Router::Node::find(std::string_view path,
                                       std::vector<std::string>& values) const {
  const std::string_view whole = path;
  const auto segment = next_segment(path);
  if (!segment) {
    if (!routes.empty()) return this;
  } else {
    std::string decoded;
    std::string_view text = *segment;
    if (text.find('%') != std::string_view::npos) {
      auto result = percent_decode(text);
      if (!result) return nullptr;
      decoded = *std::move(result);
      text = decoded;
    }
    for (const auto& [name, node] : fixed) {
      if (name != text) continue;
      if (const Node* found = node->find(path, values)) return found;
    }
    if (named && !text.empty() && !is_dots(text)) {
      values.emplace_back(text);
      if (const Node* found = named->find(path, values)) return found;
      values.pop_back();
    }
  }
  if (!rest) return nullptr;
  auto remaining = percent_decode(whole.empty() ? whole : whole.substr(1));
  if (!remaining) return nullptr;
  values.push_back(*std::move(remaining));
  return rest.get();
}

Router::Router() : root_(std::make_unique<Node>()) {}
Router::~Router() = default;
Router::Router(Router&&) noexcept = default;
Router& Router::operator=(Router&&) noexcept = default;

Router::Route& Router::route(Method method, std::string_view pattern) {
  if (!pattern.starts_with('/')) refuse_pattern(pattern, "must begin with /");
  Route route{method, {}, nullptr, nullptr};
  Node* node = root_.get();
  std::string_view path = pattern;
  while (const auto segment = next_segment(path)) {
    std::unique_ptr<Node>* next = nullptr;
    if (segment->starts_with('{') && segment->ends_with('}')) {
      std::string_view name = segment->substr(1, segment->size() - 2);
      const bool rest = name.ends_with("...");
      if (rest) name.remove_suffix(3);
      if (name.empty()) refuse_pattern(pattern, "a {} without a name");
      if (rest && !path.empty()) refuse_pattern(pattern, "{name...} must come last");
      route.names.emplace_back(name);
      next = rest ? &node->rest : &node->named;
    } else if (segment->find_first_of("{}") != std::string_view::npos) {
      refuse_pattern(pattern, "a {name} must be a whole segment");
    } else if (Node* known = node->child(*segment)) {
      node = known;
      continue;
    } else {
      next = &node->fixed.emplace_back(*segment, nullptr).second;
    }
    if (!*next) *next = std::make_unique<Node>();
    node = next->get();
  }
  for (const Route& other : node->routes) {
    if (other.method == method) refuse_pattern(pattern, "added twice for the same method");
  }
  return node->routes.emplace_back(std::move(route));
}

Router& Router::add(Method method, std::string_view pattern, Handler handler) {
  route(method, pattern).handler = std::move(handler);
  return *this;
}

Router& Router::add_stream(Method method, std::string_view pattern, StreamHandler handler) {
  route(method, pattern).stream = std::move(handler);
  return *this;
}

Router::Match Router::match(Method method, std::string_view path) const {
  Match match;
  std::vector<std::string> values;
  const Node* node = path.starts_with('/') ? root_->find(path, values) : nullptr;
  if (node == nullptr) {
    match.refusal = error_response(404, "there is nothing at this path");
    return match;
  }
  const Route* chosen = nullptr;
  for (const Route& route : node->routes) {
    if (route.method == method) chosen = &route;
    if (route.method == Method::kGet && method == Method::kHead && chosen == nullptr) {
      chosen = &route;
    }
  }
  if (chosen != nullptr) {
    if (chosen->handler) match.handler = &chosen->handler;
    if (chosen->stream) match.stream = &chosen->stream;
    for (std::size_t i = 0; i < values.size(); ++i) {
      match.parameters.emplace_back(chosen->names[i], std::move(values[i]));
    }
    return match;
  }
  std::string allow = "OPTIONS";
  for (const Route& route : node->routes) {
    allow += fmt::format(", {}", to_string(route.method));
    if (route.method == Method::kGet) allow += ", HEAD";
  }
  match.refusal =
      method == Method::kOptions
          ? Response{204, {}, {}}
          : error_response(405, fmt::format("{} is not allowed here", to_string(method)));
  match.refusal.headers.add("Allow", allow);
  return match;
}

Task<Result<Response>> Router::handle(Request request) const {
  Match found = match(request.method, request.url.path);
  request.parameters = std::move(found.parameters);
  const bool head = request.method == Method::kHead;
  Response response = std::move(found.refusal);
  if (found.handler != nullptr) {
    auto answer = co_await (*found.handler)(std::move(request));
    response = answer ? *std::move(answer) : failure_response(answer.error());
  } else if (found.stream != nullptr) {
    CollectingWriter writer;
    MS_CO_CHECK(co_await (*found.stream)(std::move(request), &writer));
    response = std::move(writer.response);
  }
  if (head) response.body.clear();
  co_return response;
}

}  // namespace mainspring::http
