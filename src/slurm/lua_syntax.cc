#include "slurm/lua_syntax.h"

#include <lua5.4/lua.hpp>

#include <algorithm>
#include <charconv>
#include <memory>

namespace mainspring::slurm {
namespace {

// What Lua itself passes over at the start of a file: a mark of UTF-8, then a line for the shell.
// The line's end stays, so that those behind it keep their numbers.
std::string_view without_preamble(std::string_view script) {
  if (script.starts_with("\xef\xbb\xbf")) script.remove_prefix(3);
  if (script.starts_with('#')) script.remove_prefix(std::min(script.find('\n'), script.size()));
  return script;
}

// "x:12: 'end' expected near 'secret'". What stands last may be any text of the script.
LuaError parse(std::string_view told) {
  LuaError error;
  if (told.starts_with("x:")) {
    const char* const end = told.data() + told.size();
    const auto [rest, code] = std::from_chars(told.data() + 2, end, error.line);
    if (code == std::errc() && std::string_view(rest, end).starts_with(": ")) {
      told = std::string_view(rest + 2, end);
    }
  }
  error.message = told.substr(0, told.find(" near "));
  return error;
}

}  // namespace

std::optional<LuaError> check_lua(std::string_view script) {
  script = without_preamble(script);
  if (script.starts_with(LUA_SIGNATURE)) return std::nullopt;
  const std::unique_ptr<lua_State, decltype(&lua_close)> lua(luaL_newstate(), &lua_close);
  if (!lua) return LuaError{.message = "there is no memory to read it"};
  if (luaL_loadbufferx(lua.get(), script.data(), script.size(), "=x", "t") == LUA_OK) {
    return std::nullopt;
  }
  std::size_t size = 0;
  const char* const told = lua_tolstring(lua.get(), -1, &size);
  return parse(told == nullptr ? std::string_view("it cannot be read")
                               : std::string_view(told, size));
}

}  // namespace mainspring::slurm
