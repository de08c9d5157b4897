#include "json/path.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

#include "json/value.h"

namespace mainspring::json {
namespace {

bool is_plain(std::string_view key) {
  return !key.empty() && std::all_of(key.begin(), key.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-' || c == '$';
  });
}

// `~1` is `/` and `~0` is `~`; false for any other use of `~`.
bool unescape_token(std::string_view token, std::string& out) {
  for (std::size_t i = 0; i < token.size(); ++i) {
    if (token[i] != '~') {
      out += token[i];
      continue;
    }
    if (++i == token.size() || (token[i] != '0' && token[i] != '1')) return false;
    out += token[i] == '0' ? '~' : '/';
  }
  return true;
}

}  // namespace

void append_key(std::string& path, std::string_view key) {
  if (!is_plain(key)) {
    path += fmt::format("[\"{}\"]", key);
    return;
  }
  if (!path.empty()) path += '.';
  path += key;
}

void append_index(std::string& path, std::size_t index) { path += fmt::format("[{}]", index); }

void append_pointer(std::string& pointer, std::string_view token) {
  pointer += '/';
  for (const char c : token) {
    if (c == '~') {
      pointer += "~0";
    } else if (c == '/') {
      pointer += "~1";
    } else {
      pointer += c;
    }
  }
}

Result<std::vector<std::string>> split_pointer(std::string_view pointer) {
  std::vector<std::string> tokens;
  if (pointer.empty()) return tokens;
  if (pointer.front() != '/') {
    return fail(Code::kInvalid, fmt::format("\"{}\" is no JSON Pointer: it must be empty or start "
                                            "with '/'",
                                            pointer));
  }
  while (!pointer.empty()) {
    pointer.remove_prefix(1);
    const std::size_t end = std::min(pointer.find('/'), pointer.size());
    if (!unescape_token(pointer.substr(0, end), tokens.emplace_back())) {
      return fail(Code::kInvalid,
                  fmt::format("\"{}\" is no step of a JSON Pointer: '~' must be written ~0",
                              pointer.substr(0, end)));
    }
    pointer.remove_prefix(end);
  }
  return tokens;
}

std::optional<std::size_t> array_index(std::string_view token) {
  if (token.empty() || (token.size() > 1 && token.front() == '0')) return std::nullopt;
  std::size_t index = 0;
  const char* const end = token.data() + token.size();
  const auto [stop, error] = std::from_chars(token.data(), end, index);
  if (error != std::errc() || stop != end) return std::nullopt;
  return index;
}

const Value* Value::at_pointer(std::string_view pointer) const noexcept {
  if (!pointer.empty() && pointer.front() != '/') return nullptr;
  const Value* value = this;
  std::string unescaped;
  while (value != nullptr && !pointer.empty()) {
    pointer.remove_prefix(1);
    std::string_view token = pointer.substr(0, pointer.find('/'));
    pointer.remove_prefix(token.size());
    if (token.find('~') != std::string_view::npos) {
      unescaped.clear();
      if (!unescape_token(token, unescaped)) return nullptr;
      token = unescaped;
    }
    if (value->is_array()) {
      const auto index = array_index(token);
      value = index && *index < value->size() ? &value->at(*index) : nullptr;
    } else {
      value = value->find(token);
    }
  }
  return value;
}

Value* Value::at_pointer(std::string_view pointer) noexcept {
  return const_cast<Value*>(std::as_const(*this).at_pointer(pointer));
}

}  // namespace mainspring::json
