#include "base/error.h"

namespace mainspring {

std::string_view to_string(Code code) {
  switch (code) {
    case Code::kInvalid:
      return "invalid";
    case Code::kNotFound:
      return "not-found";
    case Code::kAlreadyExists:
      return "already-exists";
    case Code::kConflict:
      return "conflict";
    case Code::kGone:
      return "gone";
    case Code::kThrottled:
      return "throttled";
    case Code::kTransient:
      return "transient";
    case Code::kTimeout:
      return "timeout";
    case Code::kCancelled:
      return "cancelled";
    case Code::kUnauthorized:
      return "unauthorized";
    case Code::kForbidden:
      return "forbidden";
    case Code::kTooLarge:
      return "too-large";
    case Code::kUnsupported:
      return "unsupported";
    case Code::kInternal:
      return "internal";
  }
  return "unknown";
}

Error Error::with_context(std::string what) && {
  context_.insert(context_.begin(), std::move(what));
  return std::move(*this);
}

Error Error::with_retry_after(Duration wait) && {
  retry_after_ = wait;
  return std::move(*this);
}

Error Error::with_detail(std::shared_ptr<const ErrorDetail> detail) && {
  detail_ = std::move(detail);
  return std::move(*this);
}

bool Error::operator==(const Error& other) const {
  return code_ == other.code_ && message_ == other.message_ && context_ == other.context_ &&
         retry_after_ == other.retry_after_;
}

bool Error::retryable() const {
  return code_ == Code::kThrottled || code_ == Code::kTransient || code_ == Code::kTimeout;
}

std::string Error::to_string() const {
  std::string text;
  for (const std::string& step : context_) {
    text += step;
    text += ": ";
  }
  return text + message_;
}

}  // namespace mainspring
