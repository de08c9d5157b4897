#include "slurm/lua_syntax.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace mainspring::slurm {
namespace {

TEST(LuaSyntax, TakesWhatLuaTakes) {
  EXPECT_EQ(check_lua(""), std::nullopt);
  EXPECT_EQ(check_lua("function slurm_job_submit(desc, parts, uid)\n  return slurm.SUCCESS\nend\n"),
            std::nullopt);
  EXPECT_EQ(check_lua("#!/usr/bin/lua\nreturn 1"), std::nullopt);
  EXPECT_EQ(check_lua("#!/usr/bin/lua"), std::nullopt);
  EXPECT_EQ(check_lua("\xef\xbb\xbf-- with a mark\nlocal x <const> = 1"), std::nullopt);
}

TEST(LuaSyntax, SaysTheLineAndWhatIsWrong) {
  EXPECT_EQ(check_lua("function f()\n  return 1\n"),
            (LuaError{3, "'end' expected (to close 'function' at line 1)"}));
  EXPECT_EQ(check_lua("#!/usr/bin/lua\nif x = 1 then end"), (LuaError{2, "'then' expected"}));
  EXPECT_EQ(check_lua("goto nowhere"),
            (LuaError{1, "no visible label 'nowhere' for <goto> at line 1"}));
}

TEST(LuaSyntax, RepeatsNoTextOfTheScript) {
  for (const char* script : {"x = = \"secret\"", "x = \"secret", "x = 1 secret near"}) {
    const auto error = check_lua(script);
    ASSERT_TRUE(error) << script;
    EXPECT_THAT(error->message, testing::Not(testing::HasSubstr("secret")));
  }
}

TEST(LuaSyntax, DeepNestingIsAnError) {
  const std::string deep(100'000, '(');
  ASSERT_TRUE(check_lua("x = " + deep));
  EXPECT_TRUE(check_lua("x = " + std::string(100'000, '{')));
}

TEST(LuaSyntax, WhatWasCompiledBeforeIsNotLookedAt) {
  EXPECT_EQ(check_lua("\x1bLua but broken"), std::nullopt);
}

}  // namespace
}  // namespace mainspring::slurm
