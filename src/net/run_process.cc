#include "net/run_process.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <poll.h>
#include <spawn.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <memory>
#include <utility>

#include "base/text.h"
#include "net/os_error.h"
#include "net/run_blocking.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

class Descriptor {
 public:
  Descriptor() = default;
  explicit Descriptor(int fd) : fd_(fd) {}
  Descriptor(Descriptor&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~Descriptor() { close(); }

  int get() const { return fd_; }
  bool open() const { return fd_ >= 0; }
  void close() {
    if (fd_ >= 0) ::close(fd_);
    fd_ = -1;
  }

 private:
  int fd_ = -1;
};

struct Pipe {
  Descriptor read;
  Descriptor write;
};

Result<Pipe> make_pipe() {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) return fail(os_error(errno));
  Pipe made{Descriptor(ends[0]), Descriptor(ends[1])};
  // Only our end: programs do not expect theirs to be non-blocking.
  if (::fcntl(made.read.get(), F_SETFL, O_NONBLOCK) != 0) return fail(os_error(errno));
  return made;
}

// Tells the worker thread that nobody waits any more.
class StopSignal {
 public:
  StopSignal() : event_(::eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)) {}
  int fd() const { return event_.get(); }
  void raise() const { static_cast<void>(::eventfd_write(event_.get(), 1)); }

 private:
  Descriptor event_;
};

class RaiseOnExit {
 public:
  explicit RaiseOnExit(std::shared_ptr<StopSignal> signal) : signal_(std::move(signal)) {}
  ~RaiseOnExit() { signal_->raise(); }
  RaiseOnExit(const RaiseOnExit&) = delete;
  RaiseOnExit& operator=(const RaiseOnExit&) = delete;

 private:
  std::shared_ptr<StopSignal> signal_;
};

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  result.reserve(texts.size() + 1);
  // The system takes char* and changes nothing behind it.
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

// posix_spawn's two settings, freed together.
class SpawnSettings {
 public:
  SpawnSettings(int output, int errors) {
    posix_spawn_file_actions_init(&actions_);
    posix_spawn_file_actions_addopen(&actions_, STDIN_FILENO, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions_, output, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions_, errors, STDERR_FILENO);
    posix_spawn_file_actions_addclosefrom_np(&actions_, STDERR_FILENO + 1);

    posix_spawnattr_init(&attributes_);
    posix_spawnattr_setflags(
        &attributes_, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    posix_spawnattr_setpgroup(&attributes_, 0);
    sigset_t signals;
    sigemptyset(&signals);
    posix_spawnattr_setsigmask(&attributes_, &signals);
    sigfillset(&signals);
    posix_spawnattr_setsigdefault(&attributes_, &signals);
  }
  ~SpawnSettings() {
    posix_spawn_file_actions_destroy(&actions_);
    posix_spawnattr_destroy(&attributes_);
  }
  SpawnSettings(const SpawnSettings&) = delete;
  SpawnSettings& operator=(const SpawnSettings&) = delete;

  const posix_spawn_file_actions_t* actions() const { return &actions_; }
  const posix_spawnattr_t* attributes() const { return &attributes_; }

 private:
  posix_spawn_file_actions_t actions_{};
  posix_spawnattr_t attributes_{};
};

// A running program; its group is killed and it is reaped at the latest when this dies.
class Child {
 public:
  explicit Child(pid_t pid)
      : pid_(pid), exited_(static_cast<int>(::syscall(SYS_pidfd_open, pid, 0))) {}
  ~Child() { end(); }
  Child(const Child&) = delete;
  Child& operator=(const Child&) = delete;

  // Readable once the program has ended.
  int fd() const { return exited_.get(); }

  // What waitpid says. The program leads its group, so the group's number stays ours until then.
  int end() {
    if (pid_ < 0) return status_;
    ::kill(-pid_, SIGKILL);
    while (::waitpid(pid_, &status_, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    return status_;
  }

 private:
  pid_t pid_;
  Descriptor exited_;
  int status_ = 0;
};

// What came so far; closes `from` at its end.
void drain(Descriptor& from, std::string& into, std::size_t keep_at_most) {
  // As much as a pipe holds, so that one read leaves nothing behind.
  std::array<char, std::size_t{64} * 1024> buffer;
  while (from.open()) {
    const ssize_t count = ::read(from.get(), buffer.data(), buffer.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0 && errno == EAGAIN) return;
    if (count <= 0) return from.close();
    into.append(buffer.data(), static_cast<std::size_t>(count));
    if (into.size() > keep_at_most) return;
  }
}

class Run {
 public:
  Run(const ProcessOptions& options, const StopSignal& stop) : options_(options), stop_(stop) {}

  Result<ProcessResult> operator()() {
    MS_TRY(Pipe output, make_pipe());
    MS_TRY(Pipe errors, make_pipe());
    MS_TRY(const pid_t pid, spawn(output.write.get(), errors.write.get()));
    Child child(pid);
    output.write.close();
    errors.write.close();
    output_ = std::move(output.read);
    errors_ = std::move(errors.read);
    if (child.fd() < 0) return fail(Code::kInternal, "pidfd_open: " + os_error_text(errno));
    MS_CHECK(wait_for(child));
    const int status = child.end();
    if (WIFSIGNALED(status)) {
      result_.exit_code = -1;
      result_.signal = WTERMSIG(status);
    } else {
      result_.exit_code = WEXITSTATUS(status);
    }
    return std::move(result_);
  }

 private:
  Result<pid_t> spawn(int output, int errors) const {
    std::vector<std::string> arguments = {options_.program};
    arguments.insert(arguments.end(), options_.arguments.begin(), options_.arguments.end());
    const SpawnSettings settings(output, errors);
    pid_t pid = -1;
    const int error =
        ::posix_spawn(&pid, options_.program.c_str(), settings.actions(), settings.attributes(),
                      pointers(arguments).data(), pointers(options_.environment).data());
    if (error == ENOENT)
      return fail(Code::kNotFound, options_.program + ": " + os_error_text(error));
    if (error != 0) return fail(os_error(error).with_context("starting " + options_.program));
    return pid;
  }

  // Until the program has ended. What it left running may keep the pipes open: that is not waited
  // for.
  Result<void> wait_for(const Child& child) {
    while (true) {
      pollfd events[] = {{child.fd(), POLLIN, 0},
                         {stop_.fd(), POLLIN, 0},
                         {output_.get(), POLLIN, 0},
                         {errors_.get(), POLLIN, 0}};
      if (::poll(events, std::size(events), -1) < 0) {
        if (errno == EINTR) continue;
        return fail(os_error(errno));
      }
      MS_CHECK(collect());
      if (events[1].revents != 0) return fail(Code::kCancelled, "cancelled");
      if (events[0].revents != 0) return collect();
    }
  }

  Result<void> collect() {
    drain(output_, result_.output, options_.max_output);
    if (result_.output.size() > options_.max_output) {
      return fail(Code::kTooLarge, fmt::format("{} printed more than {} bytes", options_.program,
                                               options_.max_output));
    }
    drain(errors_, result_.errors, options_.max_errors);
    if (result_.errors.size() > options_.max_errors) {
      result_.errors.erase(0, result_.errors.size() - options_.max_errors);
    }
    return {};
  }

  const ProcessOptions& options_;
  const StopSignal& stop_;
  Descriptor output_;
  Descriptor errors_;
  ProcessResult result_;
};

bool is_executable(const std::string& path) {
  struct stat info {};
  return ::stat(path.c_str(), &info) == 0 && S_ISREG(info.st_mode) &&
         ::access(path.c_str(), X_OK) == 0;
}

}  // namespace

Task<Result<ProcessResult>> run_process(ProcessOptions options) {
  auto stop = std::make_shared<StopSignal>();
  const RaiseOnExit stop_when_nobody_waits(stop);
  const Duration limit = options.timeout;
  std::string program = options.program;
  co_return co_await with_timeout(
      limit, std::move(program),
      run_blocking([options = std::move(options), stop] { return Run(options, *stop)(); }));
}

Result<std::string> find_program(const std::string& name, std::string_view path) {
  if (name.find('/') != std::string::npos) {
    if (is_executable(name)) return name;
    return fail(Code::kNotFound, name + " is not an executable file");
  }
  for (const std::string_view folder : split(path, ':')) {
    // A relative folder would let whoever chose our working directory choose the program.
    if (!folder.starts_with('/')) continue;
    std::string candidate = fmt::format("{}/{}", folder, name);
    if (is_executable(candidate)) return candidate;
  }
  return fail(Code::kNotFound, quoted(name) + " is not an executable in any folder of PATH");
}

}  // namespace mainspring::net
