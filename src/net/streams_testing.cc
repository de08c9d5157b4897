#include "net/streams_testing.h"

#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

namespace mainspring::net {

Task<Result<std::string>> read_to_end(Stream* stream) {
  std::string all;
  std::vector<char> buffer(16 * 1024);
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(buffer));
    if (count == 0) co_return all;
    all.append(buffer.data(), count);
  }
}

Task<Result<std::string>> read_exactly(Stream* stream, std::size_t size) {
  std::string all(size, '\0');
  std::size_t have = 0;
  while (have < size) {
    const std::span<char> rest = std::span(all).subspan(have);
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(rest));
    if (count == 0) co_return fail(Code::kTransient, "the stream ended early");
    have += count;
  }
  co_return all;
}

Task<Result<void>> write_all_and_finish(Stream* stream, std::string bytes) {
  MS_CO_CHECK(co_await stream->write(bytes));
  co_return co_await stream->finish();
}

Task<Result<void>> echo(Stream* stream) {
  std::vector<char> buffer(16 * 1024);
  for (;;) {
    MS_CO_TRY(const std::size_t count, co_await stream->read_some(buffer));
    if (count == 0) co_return co_await stream->finish();
    MS_CO_CHECK(co_await stream->write(std::string_view(buffer.data(), count)));
  }
}

namespace {

Task<Result<void>> own_and_echo(std::unique_ptr<Stream> stream) {
  // How one client fares is that client's business.
  (void)co_await echo(stream.get());
  co_return Result<void>();
}

}  // namespace

Task<Result<void>> echo_server(Listener* listener, TaskGroup* group) {
  for (;;) {
    auto stream = co_await listener->accept();
    if (!stream) co_return Result<void>();
    group->spawn(own_and_echo(*std::move(stream)));
  }
}

Task<Result<void>> join_all(TaskGroup* group) { co_return co_await group->join(); }

std::string pattern(std::size_t size) {
  std::string bytes(size, '\0');
  std::uint32_t state = 1;
  for (char& byte : bytes) {
    state = state * 1664525U + 1013904223U;
    byte = static_cast<char>(state >> 24U);
  }
  return bytes;
}

}  // namespace mainspring::net
