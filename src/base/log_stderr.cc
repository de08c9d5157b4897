#include "base/log_stderr.h"

#include <spdlog/details/log_msg.h>
#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_sinks.h>
#include <unistd.h>

#include <cstdlib>
#include <string_view>

namespace mainspring {
namespace {

spdlog::level::level_enum level_of(LogLevel level) {
  switch (level) {
    case LogLevel::kDebug:
      return spdlog::level::debug;
    case LogLevel::kInfo:
      return spdlog::level::info;
    case LogLevel::kWarn:
      return spdlog::level::warn;
    case LogLevel::kError:
      return spdlog::level::err;
    case LogLevel::kOff:
      return spdlog::level::off;
  }
  return spdlog::level::off;
}

class StderrLogSink final : public LogSink {
 public:
  // The line is complete when it arrives, so the pattern is the line alone.
  StderrLogSink() { sink_.set_pattern("%v"); }

  void write(LogLevel level, std::string_view line) override {
    sink_.log(spdlog::details::log_msg(spdlog::log_clock::time_point(), {}, {}, level_of(level),
                                       spdlog::string_view_t(line.data(), line.size())));
  }

 private:
  spdlog::sinks::stderr_sink_mt sink_;
};

bool is_set(const char* name) {
  const char* value = std::getenv(name);
  return value != nullptr && *value != '\0';
}

}  // namespace

std::shared_ptr<LogSink> stderr_log_sink() { return std::make_shared<StderrLogSink>(); }

LogFormat log_format_for_stderr() {
  if (isatty(STDERR_FILENO) == 0) return LogFormat::kJson;
  const char* terminal = std::getenv("TERM");
  const bool dumb = terminal != nullptr && std::string_view(terminal) == "dumb";
  return dumb || is_set("NO_COLOR") ? LogFormat::kText : LogFormat::kColor;
}

}  // namespace mainspring
