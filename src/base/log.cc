#include "base/log.h"

#include <fmt/format.h>

#include <atomic>
#include <cmath>
#include <iterator>
#include <type_traits>

#include "base/go_duration.h"
#include "base/rfc3339.h"
#include "base/text.h"

namespace mainspring {
namespace {

// The two characters behind a backslash that JSON has a short form for, or 0.
char short_escape(char c) {
  switch (c) {
    case '"':
    case '\\':
      return c;
    case '\n':
      return 'n';
    case '\r':
      return 'r';
    case '\t':
      return 't';
    default:
      return 0;
  }
}

// C0, DEL and C1: a terminal acts on them instead of showing them.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character.size() == 1) return first < 0x20 || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;
}

// A C1 character's code point is its second byte; a C0 character's its only one.
void append_escaped(std::string& out, std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = utf8_sequence_length(text);
    const std::string_view character = text.substr(0, std::max<std::size_t>(length, 1));
    text.remove_prefix(character.size());
    if (length == 0) {
      out += "\xEF\xBF\xBD";
    } else if (const char escape = short_escape(character[0])) {
      out += '\\';
      out += escape;
    } else if (is_control(character)) {
      fmt::format_to(std::back_inserter(out), "\\u{:04x}",
                     static_cast<unsigned char>(character.back()));
    } else {
      out += character;
    }
  }
}

void append_quoted(std::string& out, std::string_view text) {
  out += '"';
  append_escaped(out, text);
  out += '"';
}

// Bare in a text line where that cannot be misread.
void append_text_value(std::string& out, std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return c > ' ' && c < 0x7F && c != '"' && c != '=' && c != '\\';
  });
  if (plain) {
    out += text;
  } else {
    append_quoted(out, text);
  }
}

bool is_taken(std::string_view key) { return key == "ts" || key == "level" || key == "msg"; }

void append_key(std::string& out, std::string_view key, LogFormat format) {
  if (format == LogFormat::kJson) {
    out += ",\"";
    append_escaped(out, key);
    out += is_taken(key) ? "_\":" : "\":";
  } else {
    out += ' ';
    append_text_value(out, key);
    out += '=';
  }
}

void append_string(std::string& out, std::string_view text, LogFormat format) {
  if (format == LogFormat::kJson) {
    append_quoted(out, text);
  } else {
    append_text_value(out, text);
  }
}

void append_field(std::string& out, const LogField& field, LogFormat format) {
  append_key(out, field.key, format);
  std::visit(
      [&](const auto& value) {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::is_same_v<T, std::string_view>) {
          append_string(out, value, format);
        } else if constexpr (std::is_same_v<T, Duration>) {
          append_string(out, format_go_duration(value), format);
        } else if constexpr (std::is_same_v<T, const Error*>) {
          append_string(out, value->to_string(), format);
          const std::string code_key = std::string(field.key) + "_code";
          append_field(out, {code_key, to_string(value->code())}, format);
        } else if constexpr (std::is_same_v<T, double>) {
          // JSON has no word for these.
          const std::string text = fmt::format("{}", value);
          std::isfinite(value) ? void(out += text) : append_string(out, text, format);
        } else {
          fmt::format_to(std::back_inserter(out), "{}", value);
        }
      },
      field.value.get());
}

struct LevelStyle {
  std::string_view name;
  std::string_view column;
  std::string_view color;
};

const LevelStyle& style_of(LogLevel level) {
  static constexpr LevelStyle kStyles[] = {{"debug", "DEBUG", "\x1b[2m"},
                                           {"info", "INFO ", "\x1b[32m"},
                                           {"warn", "WARN ", "\x1b[33m"},
                                           {"error", "ERROR", "\x1b[31m"},
                                           {"off", "OFF  ", ""}};
  return kStyles[static_cast<std::size_t>(level)];
}

void append_head(std::string& out, WallTime time, LogLevel level, std::string_view message,
                 LogFormat format) {
  const LevelStyle& style = style_of(level);
  switch (format) {
    case LogFormat::kJson:
      fmt::format_to(std::back_inserter(out), R"({{"ts":"{}","level":"{}","msg":")",
                     format_rfc3339(time, TimePrecision::kMicroseconds), style.name);
      append_escaped(out, message);
      out += '"';
      return;
    case LogFormat::kText:
      fmt::format_to(std::back_inserter(out), "{} {} ",
                     format_rfc3339(time, TimePrecision::kMilliseconds), style.column);
      break;
    case LogFormat::kColor:
      fmt::format_to(std::back_inserter(out), "{} {}{}\x1b[0m ",
                     format_rfc3339(time, TimePrecision::kMilliseconds), style.color, style.column);
      break;
  }
  append_escaped(out, message);
}

}  // namespace

struct Logger::Root {
  explicit Root(Options given)
      : clock(given.clock), sink(std::move(given.sink)), format(given.format), level(given.level) {}

  const Clock* clock;
  std::shared_ptr<LogSink> sink;
  LogFormat format;
  std::atomic<LogLevel> level;
};

std::string_view to_string(LogLevel level) { return style_of(level).name; }

Result<LogLevel> parse_log_level(std::string_view text) {
  for (const LogLevel level :
       {LogLevel::kDebug, LogLevel::kInfo, LogLevel::kWarn, LogLevel::kError, LogLevel::kOff}) {
    if (equals_ignore_case(text, to_string(level))) return level;
  }
  return fail(
      Code::kInvalid,
      fmt::format("log level {} is not known: use debug, info, warn, error or off", quoted(text)));
}

void MemoryLogSink::write(LogLevel, std::string_view line) {
  const std::lock_guard lock(mutex_);
  lines_.emplace_back(line);
}

std::vector<std::string> MemoryLogSink::lines() const {
  const std::lock_guard lock(mutex_);
  return lines_;
}

Logger::Logger(Options options) {
  if (options.clock == nullptr || options.sink == nullptr) return;
  root_ = std::make_shared<Root>(std::move(options));
}

Logger Logger::with(Fields fields) const {
  if (!root_) return *this;
  std::string fixed = fixed_ ? *fixed_ : std::string();
  for (const LogField& field : fields) append_field(fixed, field, root_->format);
  Logger logger = *this;
  logger.fixed_ = std::make_shared<const std::string>(std::move(fixed));
  return logger;
}

void Logger::set_level(LogLevel level) {
  if (root_) root_->level.store(level, std::memory_order_relaxed);
}

bool Logger::enabled(LogLevel level) const {
  return root_ && level != LogLevel::kOff && level >= root_->level.load(std::memory_order_relaxed);
}

void Logger::write(LogLevel level, std::string_view message, Fields fields) const {
  std::string line;
  line.reserve(256);
  append_head(line, root_->clock->wall_now(), level, message, root_->format);
  if (fixed_) line += *fixed_;
  for (const LogField& field : fields) append_field(line, field, root_->format);
  if (root_->format == LogFormat::kJson) line += '}';
  root_->sink->write(level, line);
}

}  // namespace mainspring
