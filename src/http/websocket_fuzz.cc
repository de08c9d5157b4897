// Both ends of a websocket reading hostile frames: they must end with a goodbye or an error, within
// their limit. And the handshake, against hostile fields.
#include "http/websocket.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/text.h"
#include "http/websocket_handshake.h"
#include "net/memory_stream.h"
#include "net/virtual_executor.h"

namespace {

using namespace mainspring;
using namespace mainspring::http;

constexpr std::size_t kLimit = 300;

Task<Result<void>> feed(net::Stream* stream, std::string_view bytes) {
  MS_CO_CHECK(co_await stream->write(bytes));
  co_return co_await stream->finish();
}

Task<Result<void>> read_to_the_end(WebSocket* socket) {
  for (;;) {
    MS_CO_TRY(const auto message, co_await socket->next());
    if (!message) co_return Result<void>();
    if (message->data.size() > kLimit) std::abort();
    if (message->kind == WebSocket::Kind::kText && !is_valid_utf8(message->data)) std::abort();
  }
}

void check_frames(WebSocket::Role role, std::string_view bytes) {
  net::VirtualExecutor executor;
  Random random(1);
  auto [near, far] = net::make_memory_streams();
  WebSocket socket(std::move(far), random, {role, kLimit});
  if (!executor.run(feed(near.get(), bytes))) std::abort();
  const auto read = executor.run(read_to_the_end(&socket));
  // What VirtualExecutor says of a task that waits for ever.
  if (!read && read.error().code() == Code::kInternal) std::abort();
  if (read && !socket.closed()) std::abort();
}

void check_handshake(std::string_view text) {
  Random random(1);
  const auto offer = WebSocketOffer::make(random, {"v5", "v4"});
  Request request;
  Headers answer;
  offer.add_to(request.headers);
  for (const auto line : split(text, '\n')) {
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) continue;
    answer.add(line.substr(0, colon), trim(line.substr(colon + 1)));
    request.headers.set(line.substr(0, colon), trim(line.substr(colon + 1)));
  }
  if (const auto chosen = offer.check(answer); chosen && *chosen != "v5" && *chosen != "v4") {
    std::abort();
  }
  (void)accept_websocket(request, {"v4", "v3"});
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size > 8192) return 0;
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  check_frames(WebSocket::Role::kClient, bytes);
  check_frames(WebSocket::Role::kServer, bytes);
  check_handshake(bytes);
  return 0;
}
