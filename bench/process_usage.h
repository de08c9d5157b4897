// bench/process_usage.h
//
// What the measured programs share: ending with a message, what this process has used, and a line
// of JSON for the script that started it.
#pragma once

#include <sys/resource.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "json/value.h"

namespace mainspring::bench {

template <class T>
T must(Result<T> result) {
  if (!result) {
    std::fprintf(stderr, "%s\n", result.error().to_string().c_str());
    std::exit(1);
  }
  if constexpr (!std::is_void_v<T>) return *std::move(result);
}

inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto seconds_of = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) / 1e6;
  };
  return seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
}

// A line of /proc/self/status in bytes: "VmRSS:", "VmHWM:".
inline long memory(std::string_view name) {
  std::ifstream status("/proc/self/status");
  std::string line;
  while (std::getline(status, line)) {
    if (line.starts_with(name)) return std::atol(line.c_str() + name.size()) * 1024;
  }
  return 0;
}

inline void print_line(const json::Value& line) {
  std::printf("%s\n", json::to_text(line).c_str());
  std::fflush(stdout);
}

}  // namespace mainspring::bench
