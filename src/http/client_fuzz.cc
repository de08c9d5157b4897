// A whole client whose server answers with hostile bytes: it must end with a response or an error.
#include "http/client.h"

#include <cstdint>
#include <cstdlib>
#include <string>

#include "http/fake_network.h"
#include "http/line_reader.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"

namespace {

using namespace mainspring;
using namespace mainspring::http;

Task<Result<void>> answer_all(std::unique_ptr<net::Listener> listener, std::string_view bytes,
                              std::size_t step) {
  for (;;) {
    MS_CO_TRY(auto stream, co_await listener->accept());
    char request[4096];
    MS_CO_CHECK(co_await stream->read_some(request));
    for (std::string_view rest = bytes; !rest.empty();) {
      if (!co_await stream->write(rest.substr(0, step))) break;
      rest.remove_prefix(std::min(step, rest.size()));
    }
    (void)co_await stream->finish();
  }
}

Task<Result<void>> read_lines(Client* client, Request request) {
  MS_CO_TRY(auto response, co_await client->open(std::move(request)));
  LineReader lines(std::move(response), 512);
  for (;;) {
    MS_CO_TRY(const auto line, co_await lines.next());
    if (!line) co_return Result<void>();
    if (line->size() > 512) std::abort();
  }
}

template <class T>
void expect_an_end(const Result<T>& result) {
  // What VirtualExecutor says of a task that waits for ever.
  if (!result && result.error().code() == Code::kInternal) std::abort();
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 1 || size > 8192) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data + 1), size - 1);
  net::VirtualExecutor executor;
  FakeNetwork network;
  net::TaskGroup group(executor);
  group.spawn(
      answer_all(*network.listen(net::Endpoint::tcp("a", 80), {}), text, data[0] % 64 + 1u));
  Client::Options options;
  options.accept_gzip = (data[0] & 64) != 0;
  options.max_body = 4096;
  options.response_limits = ParserLimits{1024, 16, ParserLimits{}.body_bytes};
  Client client(executor, network, options);
  Request request;
  request.url = *Url::parse("http://a/");
  request.method = (data[0] & 128) != 0 ? Method::kHead : Method::kGet;
  const auto response = executor.run(client.send(request));
  expect_an_end(response);
  if (response && response->body.size() > 4096) std::abort();
  expect_an_end(executor.run(read_lines(&client, request)));
  request.headers.add("Upgrade", "x");
  expect_an_end(executor.run(client.upgrade(request)));
  return 0;
}
