// slurm/lua_syntax.h
//
// Whether Lua can read a script. slurmctld ends at its start where one of its lua plugins cannot.
// The script is only compiled: nothing of it is run, so that it lacks a function that Slurm calls
// is not seen. Pure.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace mainspring::slurm {

struct LuaError {
  std::size_t line = 0;  // counted from 1; 0 where Lua names none
  std::string message;   // without the text that it is about

  bool operator==(const LuaError&) const = default;
};

// Unset where it can. One that was compiled before is not looked at.
std::optional<LuaError> check_lua(std::string_view script);

}  // namespace mainspring::slurm
