// Hostile bytes to a TLS server, in the pieces in which a network might deliver them, and to a
// client. The handshake must end with an error: never a crash, never a wait without end.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <string_view>

#include "net/certs_testing.h"
#include "net/memory_stream.h"
#include "net/task_group.h"
#include "net/tls.h"
#include "net/virtual_executor.h"

namespace {

using namespace mainspring;
using namespace mainspring::net;

struct Contexts {
  std::shared_ptr<TlsContext> server;
  std::shared_ptr<TlsContext> client;
};

const Contexts& contexts() {
  static const Contexts made = [] {
    const TestCa ca;
    const TestCert cert = ca.issue_local();
    TlsServerOptions server;
    server.cert_pem = cert.cert_pem;
    server.key_pem = cert.key_pem;
    server.client_auth = ClientAuth::kRequest;
    server.client_ca_pem = ca.cert_pem();
    TlsClientOptions client;
    client.ca_pem = ca.cert_pem();
    return Contexts{TlsContext::server(server).value(), TlsContext::client(client).value()};
  }();
  return made;
}

Task<Result<std::size_t>> read_once(Stream* stream) {
  char buffer[64];
  co_return co_await stream->read_some(buffer);
}

Task<Result<std::size_t>> connect_and_read(std::unique_ptr<Stream> raw) {
  MS_CO_TRY(auto stream, co_await tls_connect(std::move(raw), contexts().client, "localhost"));
  co_return co_await read_once(stream.get());
}

Task<Result<void>> deliver(Stream* wire, std::string_view bytes, std::size_t piece) {
  while (!bytes.empty()) {
    const std::size_t count = std::min(piece, bytes.size());
    if (!co_await wire->write(bytes.substr(0, count))) break;
    bytes.remove_prefix(count);
  }
  co_return co_await wire->finish();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const bool to_client = (data[0] & 1U) != 0;
  const std::size_t piece = data[0] / 2U + 1U;
  const std::string_view bytes(reinterpret_cast<const char*>(data) + 1, size - 1);

  VirtualExecutor executor;
  auto [wire, end] = make_memory_streams();
  TaskGroup group(executor);
  group.spawn(deliver(wire.get(), bytes, piece));
  Result<std::size_t> result = 0;
  if (to_client) {
    result = executor.run(connect_and_read(std::move(end)));
  } else {
    auto server = tls_accept(std::move(end), contexts().server);
    result = executor.run(read_once(server.get()));
  }
  // Nobody without the keys can finish a handshake, and nothing may wait for ever.
  if (result || result.error().code() == Code::kInternal) std::abort();
  return 0;
}
