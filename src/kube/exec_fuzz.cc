// A process and a forwarded port whose server speaks hostile messages: both must end.
#include "kube/exec.h"

#include <cstdint>
#include <cstdlib>

#include "kube/port_forward.h"
#include "kube/scripted_transport.h"
#include "net/virtual_executor.h"

namespace {

using namespace mainspring;
using namespace mainspring::kube;

// The input as messages: a byte that says how long, then so many bytes.
Task<Result<void>> say(http::WebSocket* socket, std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = static_cast<unsigned char>(bytes[0]);
    const std::string_view message = bytes.substr(1, size);
    MS_CO_CHECK(co_await socket->send(http::WebSocket::Kind::kBinary, message));
    bytes.remove_prefix(1 + message.size());
  }
  co_return co_await socket->close();
}

Task<Result<void>> read_to_the_end(RemoteProcess* process) {
  for (;;) {
    MS_CO_TRY(const auto piece, co_await process->next());
    if (!piece) co_return Result<void>();
    if (piece->data.empty()) std::abort();
  }
}

Task<Result<std::string>> read_to_end(net::Stream* stream) {
  std::string all;
  char piece[1000];
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(piece));
    if (count == 0) co_return all;
    all.append(piece, count);
  }
}

template <class T>
net::Task<Result<T>> noting_its_end(net::Task<Result<T>> task, bool* ended) {
  Result<T> result = co_await std::move(task);
  *ended = true;
  co_return result;
}

// Whatever the bytes, reading them does not wait for ever.
template <class T>
void expect_an_end(net::VirtualExecutor& executor, net::Task<Result<T>> task) {
  bool ended = false;
  static_cast<void>(executor.run(noting_its_end(std::move(task), &ended)));
  if (!ended) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 4096) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  net::VirtualExecutor executor;
  Random random(1);
  ScriptedTransport transport;
  transport.protocols = {"v5.channel.k8s.io", "v4.channel.k8s.io"};
  Client client(transport, executor.clock(), random, {.server = *http::Url::parse("http://api")});

  auto process = executor.run(exec(&client, "ns", "pod", {.command = {"x"}}));
  if (!process || !executor.run(say(transport.socket.get(), bytes))) std::abort();
  expect_an_end(executor, read_to_the_end(process->get()));

  auto stream = executor.run(port_forward(&client, "ns", "pod", 8080));
  if (!stream || !executor.run(say(transport.socket.get(), bytes))) std::abort();
  expect_an_end(executor, read_to_end(stream->get()));
  return 0;
}
