// kube/credentials.h
//
// Who we are to the API server, beyond a client certificate: adds a header to each request. Given
// to Client by whatever read the configuration. Lives on one loop.
#pragma once

#include "base/result.h"
#include "http/headers.h"
#include "net/task.h"

namespace mainspring::kube {

class Credentials {
 public:
  virtual ~Credentials() = default;
  // May wait: a credential plugin runs. `headers` must live until the task ends.
  virtual net::Task<Result<void>> add_to(http::Headers* headers) = 0;
  // The server refused what add_to() gave (401). True if asking again may give something better.
  virtual bool refresh() = 0;
};

}  // namespace mainspring::kube
