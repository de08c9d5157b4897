// net/os_error.h
//
// The operating system's error numbers as our errors.
#pragma once

#include <string>

#include "base/error.h"

namespace mainspring::net {

// "connection refused"
std::string os_error_text(int number);

// The code says whether trying again can help.
Error os_error(int number);

}  // namespace mainspring::net
