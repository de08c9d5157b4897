// base/error.h
//
// What went wrong, as a value: a code that a caller can act on, a message that a person can act on,
// and the chain of what was being done, added by each layer on the way up. Every room returns these
// inside Result<T>; no exception crosses a room.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/time.h"

namespace mainspring {

// What the caller may do about it, not where it came from.
enum class Code {
  kInvalid,        // The input is wrong. The same call will fail again.
  kNotFound,       // The named thing does not exist.
  kAlreadyExists,  // The named thing exists and was to be created.
  kConflict,       // Somebody else changed it first: read again, decide again.
  kGone,           // The position is too old (a watch, a page): start over.
  kThrottled,      // The other side asks for patience; see retry_after().
  kTransient,      // The other side or the way to it failed. The same call may work later.
  kTimeout,        // Our own deadline passed. It is unknown whether the call took effect.
  kCancelled,      // We were told to stop.
  kUnauthorized,   // Who we are was not accepted.
  kForbidden,      // Who we are is known and may not do this.
  kTooLarge,       // A limit on size or depth was hit.
  kUnsupported,    // The other side does not know this operation or version.
  kInternal,       // A bug here or there.
};

std::string_view to_string(Code code);

// What the other side said about the failure, beyond code and message. The room that spoke to it
// derives its own type and knows how to find it again.
struct ErrorDetail {
  virtual ~ErrorDetail() = default;
};

class Error {
 public:
  Error(Code code, std::string message) : code_(code), message_(std::move(message)) {}

  Code code() const { return code_; }
  const std::string& message() const { return message_; }

  // Outermost first: what we were doing when this happened.
  const std::vector<std::string>& context() const { return context_; }

  // How long the other side asked us to wait, where it said so.
  std::optional<Duration> retry_after() const { return retry_after_; }

  Error with_context(std::string what) &&;
  Error with_retry_after(Duration wait) &&;
  Error with_detail(std::shared_ptr<const ErrorDetail> detail) &&;

  // The detail, where it is a T; else null. Lives as long as the error and its copies.
  template <class T>
  const T* detail() const {
    return dynamic_cast<const T*>(detail_.get());
  }

  // True where the same call can succeed later without anybody changing anything.
  bool retryable() const;

  // "listing pods: connecting to 127.0.0.1:6443: connection refused"
  std::string to_string() const;

  // Details are not compared: they say the same thing more precisely.
  bool operator==(const Error& other) const;

 private:
  Code code_;
  std::string message_;
  std::vector<std::string> context_;
  std::optional<Duration> retry_after_;
  std::shared_ptr<const ErrorDetail> detail_;
};

}  // namespace mainspring
