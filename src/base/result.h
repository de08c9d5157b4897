// base/result.h
//
// Result<T>: a value or an Error. The one file that names tl::expected, so that std::expected can
// take its place when the compiler has it.
//
//   Result<Config> load(const std::string& path) {
//     MS_TRY(std::string text, read_file(path));
//     MS_TRY(Config config, parse(text));
//     return config;
//   }
#pragma once

#include <string>
#include <tl/expected.hpp>
#include <utility>

#include "base/error.h"

namespace mainspring {

template <class T>
using Result = tl::expected<T, Error>;

// The failing side of any Result: `return fail(Code::kInvalid, "...")`.
inline tl::unexpected<Error> fail(Error error) { return tl::unexpected<Error>(std::move(error)); }
inline tl::unexpected<Error> fail(Code code, std::string message) {
  return tl::unexpected<Error>(Error(code, std::move(message)));
}

// Adds what was being done to a failure and leaves a success alone.
template <class T>
Result<T> with_context(Result<T> result, std::string what) {
  if (!result) return fail(std::move(result).error().with_context(std::move(what)));
  return result;
}

}  // namespace mainspring

// Declarations and names cannot stand in parentheses.
// NOLINTBEGIN(bugprone-macro-parentheses)
#define MS_CONCAT_INNER(a, b) a##b
#define MS_CONCAT(a, b) MS_CONCAT_INNER(a, b)
#define MS_TRY_IMPL(name, keyword, declaration, expression)       \
  auto name = (expression);                                       \
  if (!name) keyword ::mainspring::fail(std::move(name).error()); \
  declaration = *std::move(name)
#define MS_CHECK_IMPL(name, keyword, expression) \
  if (auto name = (expression); !name) keyword ::mainspring::fail(std::move(name).error())
// NOLINTEND(bugprone-macro-parentheses)

// Declares a variable from a Result, or returns its error. MS_CO_* are the same inside a coroutine.
#define MS_TRY(declaration, expression) \
  MS_TRY_IMPL(MS_CONCAT(ms_try_, __LINE__), return, declaration, expression)
#define MS_CO_TRY(declaration, expression) \
  MS_TRY_IMPL(MS_CONCAT(ms_try_, __LINE__), co_return, declaration, expression)
// The same for a Result whose value is not wanted.
#define MS_CHECK(expression) MS_CHECK_IMPL(MS_CONCAT(ms_check_, __LINE__), return, expression)
#define MS_CO_CHECK(expression) MS_CHECK_IMPL(MS_CONCAT(ms_check_, __LINE__), co_return, expression)
