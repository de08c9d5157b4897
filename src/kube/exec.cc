#include "kube/exec.h"

#include <fmt/format.h>

#include "base/text.h"
#include "kube/resource.h"
#include "kube/status.h"

namespace mainspring::kube {
namespace {

constexpr std::string_view kV5 = "v5.channel.k8s.io";
constexpr std::string_view kV4 = "v4.channel.k8s.io";

constexpr unsigned char kInput = 0;
constexpr unsigned char kOutput = 1;
constexpr unsigned char kErrors = 2;
constexpr unsigned char kStatus = 3;
constexpr unsigned char kResize = 4;
constexpr unsigned char kClose = 255;  // Since v5: the one byte that follows names a channel.

constexpr std::size_t kMaxStatus = std::size_t{1} << 20;

Task<Result<std::unique_ptr<RemoteProcess>>> open(Client* client, std::string ns, std::string pod,
                                                  std::string subresource, ExecOptions options) {
  static const Resource kPods{"", "v1", "pods", "Pod", true};
  Call call;
  call.path = kPods.path(ns, pod, subresource);
  call.what = fmt::format("{} in pod {}/{}", subresource, ns, pod);
  for (auto& part : options.command) call.query.emplace_back("command", std::move(part));
  if (!options.container.empty()) call.query.emplace_back("container", options.container);
  call.query.emplace_back("stdout", "true");
  if (options.input) call.query.emplace_back("stdin", "true");
  // A terminal has one output; servers refuse to be asked for two.
  call.query.emplace_back(options.tty ? "tty" : "stderr", "true");
  MS_CO_TRY(auto socket, co_await ChannelSocket::open(client, std::move(call),
                                                      {std::string(kV5), std::string(kV4)}));
  co_return std::make_unique<RemoteProcess>(std::move(socket));
}

Task<Result<void>> feed(RemoteProcess* process, std::string_view input) {
  MS_CO_CHECK(co_await process->write(input));
  co_return co_await process->close_input();
}

Task<Result<Finished>> collect(RemoteProcess* process, std::size_t max_output) {
  Finished finished;
  for (;;) {
    MS_CO_TRY(const auto piece, co_await process->next());
    if (!piece) break;
    const bool is_output = piece->source == RemoteProcess::Source::kOutput;
    (is_output ? finished.output : finished.errors).append(piece->data);
    if (finished.output.size() + finished.errors.size() > max_output) {
      co_return fail(Code::kTooLarge,
                     fmt::format("the command wrote more than {} bytes", max_output));
    }
  }
  finished.exit = process->exit();
  co_return finished;
}

}  // namespace

Task<Result<std::unique_ptr<RemoteProcess>>> exec(Client* client, std::string ns, std::string pod,
                                                  ExecOptions options) {
  if (options.command.empty()) co_return fail(Code::kInvalid, "exec needs a command to run");
  co_return co_await open(client, std::move(ns), std::move(pod), "exec", std::move(options));
}

Task<Result<std::unique_ptr<RemoteProcess>>> attach(Client* client, std::string ns, std::string pod,
                                                    ExecOptions options) {
  if (!options.command.empty()) co_return fail(Code::kInvalid, "attach takes no command");
  co_return co_await open(client, std::move(ns), std::move(pod), "attach", std::move(options));
}

RemoteProcess::RemoteProcess(std::unique_ptr<ChannelSocket> socket) : socket_(std::move(socket)) {}

Task<Result<std::optional<RemoteProcess::Piece>>> RemoteProcess::next() {
  for (;;) {
    MS_CO_TRY(const auto piece, co_await socket_->next());
    if (!piece) break;
    if (piece->channel == kOutput) co_return Piece{Source::kOutput, piece->data};
    if (piece->channel == kErrors) co_return Piece{Source::kError, piece->data};
    if (piece->channel != kStatus) continue;
    if (status_.size() + piece->data.size() > kMaxStatus) {
      co_return fail(Code::kTooLarge, "the exit status is longer than a status can be");
    }
    status_.append(piece->data);
  }
  if (status_.empty()) {
    co_return fail(Code::kTransient, "the connection ended before the process did");
  }
  MS_CO_TRY(exit_, parse_exit_status(status_));
  co_return std::nullopt;
}

Task<Result<void>> RemoteProcess::write(std::string_view data) {
  if (data.empty()) co_return Result<void>();
  co_return co_await socket_->send(kInput, data);
}

bool RemoteProcess::can_close_input() const { return socket_->protocol() == kV5; }

Task<Result<void>> RemoteProcess::close_input() {
  if (!can_close_input()) {
    co_return fail(Code::kUnsupported,
                   "this server cannot end the input of a process: it speaks v4.channel.k8s.io");
  }
  const char channel = static_cast<char>(kInput);
  co_return co_await socket_->send(kClose, std::string_view(&channel, 1));
}

Task<Result<void>> RemoteProcess::resize(std::uint16_t columns, std::uint16_t rows) {
  const std::string size = fmt::format(R"({{"Width":{},"Height":{}}})", columns, rows);
  co_return co_await socket_->send(kResize, size);
}

Result<ExitStatus> parse_exit_status(std::string_view text) {
  json::Reader reader;
  MS_TRY(Status status,
         with_context(json::decode<Status>(reader, text), "reading how a process ended"));
  if (status.status == "Success") return ExitStatus{};
  if (status.reason != "NonZeroExitCode") return fail(error_of(std::move(status)));
  for (const StatusCause& cause : status.causes) {
    if (cause.reason != "ExitCode") continue;
    MS_TRY(const int code, with_context(parse_integer<int>(cause.message), "reading an exit code"));
    return ExitStatus{code, std::move(status.message)};
  }
  return fail(Code::kInvalid,
              "a process ended with an error and no exit code: " + quoted(status.message, 200));
}

Task<Result<Finished>> run_to_end(Client* client, std::string ns, std::string pod,
                                  ExecOptions options, std::string input, std::size_t max_output) {
  const net::Context context = co_await net::current_context();
  options.input = !input.empty();
  MS_CO_TRY(const auto process, co_await exec(client, std::move(ns), std::move(pod), options));
  if (options.input && !process->can_close_input()) {
    co_return fail(Code::kUnsupported,
                   "this server cannot tell a process that its input has ended");
  }
  // A process that ends without reading all its input is no failure, so nobody joins this.
  net::TaskGroup feeder(*context.executor, context.scope);
  if (options.input) feeder.spawn(feed(process.get(), input));
  co_return co_await collect(process.get(), max_output);
}

}  // namespace mainspring::kube
