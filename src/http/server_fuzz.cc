// A whole server on a memory stream, fed hostile bytes: it must end, and everything it says must be
// responses that our own parser understands.
#include "http/server.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/fake_network.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"

namespace {

using namespace mainspring;
using namespace mainspring::http;

Task<Result<Response>> echo(Request request) {
  co_return text_response(200, request.url.target() + request.body);
}
Task<Result<void>> stream(Request request, ResponseWriter* out) {
  MS_CO_CHECK(co_await out->start(200, {}));
  MS_CO_CHECK(co_await out->write(request.url.path));
  co_return co_await out->write(request.body);
}

Task<Result<void>> feed(net::Stream* to, std::string_view bytes, std::size_t step) {
  while (!bytes.empty()) {
    if (!co_await to->write(bytes.substr(0, step))) break;
    bytes.remove_prefix(std::min(step, bytes.size()));
  }
  co_return co_await to->finish();
}

Task<Result<std::string>> drain(net::Stream* from) {
  std::string all;
  char buffer[4096];
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await from->read_some(buffer));
    if (count == 0) co_return all;
    all.append(buffer, count);
  }
}

// HEAD answers cannot be told apart without the requests, so every one is tried both ways.
bool understood(std::string_view text) {
  if (text.empty()) return true;
  for (const bool bodyless : {false, true}) {
    ResponseParser parser({});
    parser.reset(bodyless);
    std::string_view rest = text;
    for (;;) {
      const auto event = parser.next(rest);
      if (!event) break;
      if (*event == ParserEvent::kEnd) {
        if (understood(rest)) return true;
        break;
      }
      if (*event == ParserEvent::kNeedMore) {
        if (parser.end_of_stream() && understood(rest)) return true;
        break;
      }
    }
  }
  return false;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 4096) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  net::VirtualExecutor executor;
  FakeNetwork network;
  Router router;
  router.add(Method::kGet, "/s/{rest...}", echo);
  router.add(Method::kPost, "/{rest...}", echo);
  router.add_stream(Method::kGet, "/{name}", stream);
  Server::Options options;
  options.request_limits = ParserLimits{1024, 16, 2048};
  Server server(executor, options, std::move(router));
  net::TaskGroup group(executor);
  group.spawn(server.serve(*network.listen(net::Endpoint::tcp("s", 80), {})));
  auto connection = *executor.run(network.connect(net::Endpoint::tcp("s", 80), {}));
  group.spawn(feed(connection.get(), text, data[0] % 64 + 1u));
  const auto answers = executor.run(drain(connection.get()));
  if (!answers || !understood(*answers)) std::abort();
  executor.advance(minutes(10));
  if (server.connections() != 0) std::abort();
  return 0;
}
