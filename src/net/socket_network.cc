#include "net/socket_network.h"

#include <fmt/format.h>

#include "net/resolver.h"
#include "net/socket_internal.h"
#include "net/tls.h"
#include "net/wait.h"

namespace mainspring::net {
namespace {

using Connected = Result<std::unique_ptr<Stream>>;

// One after the other. A later address is tried also when an earlier one refused us, because the
// addresses of a name need not be the same machine.
Task<Connected> connect_any(EventLoop* loop, std::vector<SocketAddress> addresses,
                            Duration limit_for_each) {
  std::string failures;
  for (std::size_t i = 0; i < addresses.size(); ++i) {
    const Context context = co_await current_context();
    const SocketAddress& address = addresses[i];
    const bool last = i + 1 == addresses.size();
    // Who is last may use all the time that is left.
    auto connecting = last ? connect_socket(loop, address)
                           : with_timeout(limit_for_each, "it", connect_socket(loop, address));
    auto attempt = co_await std::move(connecting);
    if (attempt) co_return attempt;
    if (addresses.size() == 1) co_return attempt;
    if (context.scope != nullptr && context.scope->cancelled()) co_return attempt;
    failures += fmt::format("{}{}: {}", i == 0 ? "" : "; ", address.to_string(),
                            attempt.error().to_string());
  }
  co_return fail(Code::kTransient, std::move(failures));
}

Task<Connected> connect_raw(EventLoop* loop, Endpoint endpoint, Duration limit_for_each) {
  if (endpoint.is_unix()) {
    MS_CO_TRY(const SocketAddress address, SocketAddress::of_unix(endpoint.unix_path));
    co_return co_await connect_socket(loop, address);
  }
  MS_CO_TRY(std::vector<SocketAddress> addresses, co_await resolve(endpoint.host, endpoint.port));
  co_return co_await connect_any(loop, std::move(addresses), limit_for_each);
}

Task<Connected> connect_all(EventLoop* loop, Endpoint endpoint, ConnectOptions options) {
  MS_CO_TRY(auto raw, co_await connect_raw(loop, endpoint, options.timeout_per_address));
  if (options.tls == nullptr) co_return raw;
  std::string name = options.server_name.empty() ? endpoint.host : options.server_name;
  co_return co_await tls_connect(std::move(raw), options.tls->current(), std::move(name));
}

Task<Connected> connect_in_time(EventLoop* loop, Endpoint endpoint, ConnectOptions options) {
  const Duration limit = options.timeout;
  const std::string what = "connecting to " + endpoint.to_string();
  auto attempt = connect_all(loop, std::move(endpoint), std::move(options));
  co_return with_context(co_await with_timeout(limit, "it", std::move(attempt)), what);
}

}  // namespace

Task<Connected> SocketNetwork::connect(Endpoint endpoint, ConnectOptions options) {
  return connect_in_time(&loop_, std::move(endpoint), std::move(options));
}

Result<std::unique_ptr<Listener>> SocketNetwork::listen(const Endpoint& endpoint,
                                                        ListenOptions options) {
  return listen_socket(loop_, endpoint, std::move(options));
}

}  // namespace mainspring::net
