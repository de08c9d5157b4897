// net/run_process.h
//
// Runs a program and waits on the loop for what it prints. The program gets no input, the
// environment it is given and nothing else of ours: no descriptors, no signal settings. It runs in
// a process group of its own; when it ends, takes too long, prints too much, or the waiting task is
// cancelled or destroyed, the whole group is killed. The waiting itself happens on a worker thread
// (net/run_blocking.h). For credential plugins; not for programs that talk to a terminal.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "net/task.h"

namespace mainspring::net {

struct ProcessOptions {
  std::string program;  // A path: see find_program().
  std::vector<std::string> arguments;
  std::vector<std::string> environment;  // "NAME=value"
  Duration timeout = seconds(60);
  // Of standard output; more is kTooLarge.
  std::size_t max_output = std::size_t{1} << 20;
  // How much of the end of standard error is kept.
  std::size_t max_errors = 4096;
};

struct ProcessResult {
  int exit_code = 0;  // -1 where a signal ended it.
  int signal = 0;
  std::string output;
  std::string errors;
};

// Fails where the program could not be started or did not end by itself: kNotFound, kForbidden,
// kTimeout, kTooLarge. An exit code other than 0 is no failure here.
Task<Result<ProcessResult>> run_process(ProcessOptions options);

// Where a program is: `name` itself if it contains a slash, else the first executable of that name
// in the absolute folders of `path`, the value of PATH. kNotFound if there is none.
Result<std::string> find_program(const std::string& name, std::string_view path);

}  // namespace mainspring::net
