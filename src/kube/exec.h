// kube/exec.h
//
// Running a command in a container, or joining its main process, over a websocket (the protocols
// v5.channel.k8s.io and v4.channel.k8s.io). For the CLI and for tools that act inside pods; owned
// by the task that talks to the process. Dropping it drops the connection, which does not end the
// process.
//
//   MS_CO_TRY(auto process, co_await exec(&client, "slurm", "controller-0", {.command =
//   {"sinfo"}})); while (true) {
//     MS_CO_TRY(const auto piece, co_await process->next());
//     if (!piece) break;
//     print(piece->data);
//   }
//   return process->exit().code;
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "kube/channel_socket.h"
#include "kube/client.h"

namespace mainspring::kube {

struct ExecOptions {
  std::vector<std::string> command;  // Must be empty for attach().
  std::string container;             // Empty: the pod's default container.
  bool input = false;                // Connects the process's standard input.
  bool tty = false;                  // Errors then come mixed with the output.
};

struct ExitStatus {
  int code = 0;
  std::string message;  // Empty after success.
};

class RemoteProcess {
 public:
  enum class Source { kOutput, kError };
  struct Piece {
    Source source = Source::kOutput;
    std::string_view data;  // Valid until the next call of next().
  };

  explicit RemoteProcess(std::unique_ptr<ChannelSocket> socket);

  // What the process writes; nullopt when it has ended, and only then exit() holds. Fails where the
  // command could not be run (no such file, no such container) or the connection was lost.
  Task<Result<std::optional<Piece>>> next();
  const ExitStatus& exit() const { return exit_; }

  // Waits while the process does not read. `data` must live until the task ends.
  Task<Result<void>> write(std::string_view data);
  // The process's input ends. kUnsupported with servers before Kubernetes 1.30, whose v4 has no
  // words for it.
  Task<Result<void>> close_input();
  bool can_close_input() const;
  // The size of the terminal, in characters. Only with `tty`.
  Task<Result<void>> resize(std::uint16_t columns, std::uint16_t rows);

 private:
  std::unique_ptr<ChannelSocket> socket_;
  std::string status_;
  ExitStatus exit_;
};

// `client` must outlive the task and the process.
Task<Result<std::unique_ptr<RemoteProcess>>> exec(Client* client, std::string ns, std::string pod,
                                                  ExecOptions options);
Task<Result<std::unique_ptr<RemoteProcess>>> attach(Client* client, std::string ns, std::string pod,
                                                    ExecOptions options);

// What the Status on the error channel means: how the process ended, or why it never ran.
Result<ExitStatus> parse_exit_status(std::string_view text);

// A command run to its end. options.input is set where `input` is not empty.
struct Finished {
  ExitStatus exit;
  std::string output;
  std::string errors;
};
// kTooLarge if the command writes more than `max_output` bytes.
Task<Result<Finished>> run_to_end(Client* client, std::string ns, std::string pod,
                                  ExecOptions options, std::string input = {},
                                  std::size_t max_output = std::size_t{16} * 1024 * 1024);

}  // namespace mainspring::kube
