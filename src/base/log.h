// base/log.h
//
// Structured logs: a sentence, a level and typed fields.
//
//   log.info("node drained", {{"node", name}, {"waited", elapsed}, {"jobs", 3}});
//   Logger mine = log.with({{"cluster", "a"}});
//
// A Logger is a small value, handed down like Clock and copied freely; it carries fixed fields, and
// all that come from one root share its sink, clock and level. Any thread may use it. A default
// Logger is silent. Whatever bytes come in, a JSON line is one line of valid JSON in UTF-8, and no
// control character reaches a terminal. A Secret logs as "<redacted>".
//
// The keys ts, level and msg are taken: a field of that name gets an underscore behind it. A field
// that is given twice appears twice, the later one last.
#pragma once

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <memory>
#include <mutex>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "base/clock.h"
#include "base/error.h"
#include "base/result.h"
#include "base/secret.h"

namespace mainspring {

enum class LogLevel { kDebug, kInfo, kWarn, kError, kOff };

std::string_view to_string(LogLevel level);
Result<LogLevel> parse_log_level(std::string_view text);

enum class LogFormat {
  kJson,  // {"ts":"2026-11-15T09:00:00.000000Z","level":"info","msg":"node drained","node":"gpu-0"}
  kText,  // 2026-11-15T09:00:00.000Z INFO  node drained node=gpu-0
  kColor,  // The same with the level in colour.
};

// Where lines go. Called by any thread, also by several at a time.
class LogSink {
 public:
  virtual ~LogSink() = default;
  // `line` has no line break and lives no longer than the call.
  virtual void write(LogLevel level, std::string_view line) = 0;
};

// Keeps the lines, for tests.
class MemoryLogSink final : public LogSink {
 public:
  void write(LogLevel level, std::string_view line) override;
  std::vector<std::string> lines() const;

 private:
  mutable std::mutex mutex_;
  std::vector<std::string> lines_;
};

// What a field can hold. Points at what it was made from, so that a line that is not written costs
// nothing: use it only as an argument.
class LogValue {
 public:
  // Implicit, so that a field reads {"key", value}.
  LogValue(std::string_view text) : value_(text) {}
  LogValue(const std::string& text) : value_(std::string_view(text)) {}
  LogValue(const char* text) : value_(std::string_view(text)) {}
  LogValue(bool flag) : value_(flag) {}
  LogValue(double number) : value_(number) {}
  template <std::signed_integral T>
  LogValue(T number) : value_(static_cast<std::int64_t>(number)) {}
  template <std::unsigned_integral T>
  LogValue(T number) : value_(static_cast<std::uint64_t>(number)) {}
  template <class Rep, class Period>
  LogValue(std::chrono::duration<Rep, Period> duration)
      : value_(std::chrono::duration_cast<Duration>(duration)) {}
  LogValue(const Error& error) : value_(&error) {}
  LogValue(const Secret&) : value_(kRedacted) {}

  using Variant = std::variant<std::string_view, std::int64_t, std::uint64_t, double, bool,
                               Duration, const Error*>;
  const Variant& get() const { return value_; }

 private:
  Variant value_;
};

struct LogField {
  std::string_view key;
  LogValue value;
};

class Logger {
 public:
  struct Options {
    const Clock* clock = nullptr;  // Must outlive every Logger that comes from this one.
    std::shared_ptr<LogSink> sink;
    LogFormat format = LogFormat::kJson;
    LogLevel level = LogLevel::kInfo;
  };
  using Fields = std::initializer_list<LogField>;

  Logger() = default;
  explicit Logger(Options options);

  // One that adds these fields to every line.
  Logger with(Fields fields) const;

  // For this Logger and all that share its root.
  void set_level(LogLevel level);
  bool enabled(LogLevel level) const;

  void log(LogLevel level, std::string_view message, Fields fields = {}) const {
    if (enabled(level)) write(level, message, fields);
  }
  void debug(std::string_view message, Fields fields = {}) const {
    log(LogLevel::kDebug, message, fields);
  }
  void info(std::string_view message, Fields fields = {}) const {
    log(LogLevel::kInfo, message, fields);
  }
  void warn(std::string_view message, Fields fields = {}) const {
    log(LogLevel::kWarn, message, fields);
  }
  void error(std::string_view message, Fields fields = {}) const {
    log(LogLevel::kError, message, fields);
  }

 private:
  struct Root;

  void write(LogLevel level, std::string_view message, Fields fields) const;

  std::shared_ptr<Root> root_;
  // The fixed fields, already in the root's format.
  std::shared_ptr<const std::string> fixed_;
};

}  // namespace mainspring
