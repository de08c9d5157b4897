// base/log_stderr.h
//
// The sink of a running process: standard error, one write a line. Made once in main; lines of
// several threads do not mix. The one place that knows spdlog.
#pragma once

#include <memory>

#include "base/log.h"

namespace mainspring {

std::shared_ptr<LogSink> stderr_log_sink();

// Text for a person at a terminal (in colour unless NO_COLOR is set or TERM is dumb), JSON
// otherwise.
LogFormat log_format_for_stderr();

}  // namespace mainspring
