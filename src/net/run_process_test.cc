#include "net/run_process.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/event_loop.h"
#include "net/task_group.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

namespace fs = std::filesystem;
using ::testing::EndsWith;

class RunProcess : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  static ProcessOptions shell(std::string script) {
    ProcessOptions options;
    options.program = "/bin/sh";
    options.arguments = {"-c", std::move(script)};
    options.environment = {"PATH=/usr/bin:/bin"};
    return options;
  }

  Result<ProcessResult> run(ProcessOptions options) {
    return loop.run(run_process(std::move(options)));
  }

  // Waits for the file that the script writes its number into.
  static Task<Result<pid_t>> pid_in(fs::path file) {
    pid_t pid = 0;
    while (!(std::ifstream(file) >> pid)) MS_CO_CHECK(co_await sleep(milliseconds(2)));
    co_return pid;
  }

  static Task<Result<void>> until_gone(pid_t pid) {
    while (::kill(pid, 0) == 0) {
      // A child that somebody else must reap is gone as far as we are concerned.
      std::string state;
      std::ifstream stat("/proc/" + std::to_string(pid) + "/stat");
      stat >> state >> state >> state;
      if (state == "Z") break;
      MS_CO_CHECK(co_await sleep(milliseconds(2)));
    }
    co_return Result<void>();
  }

  EventLoop loop;
  fs::path folder;
};

TEST_F(RunProcess, GivesOutputErrorsAndExitCode) {
  const auto result = run(shell("echo out; echo err >&2; exit 3"));
  ASSERT_TRUE(result.has_value()) << result.error().to_string();
  EXPECT_EQ(result->output, "out\n");
  EXPECT_EQ(result->errors, "err\n");
  EXPECT_EQ(result->exit_code, 3);
  EXPECT_EQ(result->signal, 0);
}

TEST_F(RunProcess, ASignalIsNoExitCode) {
  const auto result = run(shell("kill -TERM $$"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->exit_code, -1);
  EXPECT_EQ(result->signal, SIGTERM);
}

TEST_F(RunProcess, TheProgramHasItsEnvironmentNoInputAndNoneOfOurDescriptors) {
  // Neither a pipe, whose ends the shell itself has for a moment, nor the last command, which would
  // take the shell's place.
  auto options = shell("echo \"$A-$HOME\"; cat; ls /proc/$$/fd; true");
  options.environment.push_back("A=1");
  const int ours = ::dup(STDOUT_FILENO);  // Not close-on-exec.
  const auto result = run(std::move(options));
  ::close(ours);
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output, "1-\n0\n1\n2\n");
}

TEST_F(RunProcess, KeepsTheEndOfALongComplaint) {
  auto options = shell("yes complaint | head -c 300000 >&2; echo last >&2");
  options.max_errors = 100;
  const auto result = run(std::move(options));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->errors.size(), 100U);
  EXPECT_THAT(result->errors, EndsWith("last\n"));
}

TEST_F(RunProcess, OutputWithoutEndIsRefused) {
  auto options = shell("yes");
  options.max_output = 100'000;
  const auto result = run(std::move(options));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().code(), Code::kTooLarge);
  EXPECT_EQ(result.error().message(), "/bin/sh printed more than 100000 bytes");
}

TEST_F(RunProcess, WhatTakesTooLongIsATimeout) {
  auto options = shell("sleep 1000");
  options.timeout = milliseconds(50);
  const auto result = run(std::move(options));
  ASSERT_FALSE(result.has_value());
  EXPECT_EQ(result.error().message(), "/bin/sh took longer than 50 ms");
}

Task<Result<void>> run_for_ever(ProcessOptions options) {
  MS_CO_CHECK(co_await run_process(std::move(options)));
  co_return Result<void>();
}

TEST_F(RunProcess, CancellingKillsTheProgramAndItsChildren) {
  pid_t child = 0;
  {
    TaskGroup group(loop);
    group.spawn(
        run_for_ever(shell("sleep 1000 & echo $! > " + (folder / "pid").string() + "; wait")));
    const auto found = loop.run(pid_in(folder / "pid"));
    ASSERT_TRUE(found.has_value());
    child = *found;
    EXPECT_EQ(::kill(child, 0), 0);
  }
  EXPECT_TRUE(loop.run(until_gone(child)).has_value());
}

TEST_F(RunProcess, DoesNotWaitForWhatTheProgramLeftBehind) {
  const auto result = run(shell("sleep 1000 & echo done"));
  ASSERT_TRUE(result.has_value());
  EXPECT_EQ(result->output, "done\n");
}

TEST_F(RunProcess, FindsProgramsInAbsoluteFoldersOfPathOnly) {
  std::ofstream(folder / "tool") << "#!/bin/sh\n";
  EXPECT_FALSE(find_program("tool", folder.string()).has_value());  // Not executable yet.
  ::chmod((folder / "tool").c_str(), 0700);
  EXPECT_EQ(find_program("tool", "relative:/nowhere:" + folder.string()).value(), folder / "tool");
  EXPECT_EQ(find_program("tool", ".:").error().message(),
            "\"tool\" is not an executable in any folder of PATH");
  EXPECT_EQ(find_program(folder / "tool", "").value(), folder / "tool");
  EXPECT_EQ(find_program("/nowhere/tool", "").error().code(), Code::kNotFound);
}

TEST_F(RunProcess, AProgramThatCannotBeStartedIsAnError) {
  ProcessOptions options;
  options.program = (folder / "absent").string();
  EXPECT_EQ(run(options).error().code(), Code::kNotFound);
  std::ofstream(folder / "absent") << "#!/bin/sh\n";
  EXPECT_EQ(run(options).error().code(), Code::kForbidden);
}

}  // namespace
}  // namespace mainspring::net
