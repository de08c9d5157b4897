// http/not_sent.h
//
// NotSent: the detail of an error before which nothing of the request had left, so that whatever
// was asked for has not been done.
#pragma once

#include <memory>

#include "base/error.h"

namespace mainspring::http {

struct NotSent final : ErrorDetail {};

inline Error not_sent(Error error) {
  return std::move(error).with_detail(std::make_shared<NotSent>());
}
inline bool was_not_sent(const Error& error) { return error.detail<NotSent>() != nullptr; }

}  // namespace mainspring::http
