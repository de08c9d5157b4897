#include "kube/channel_socket.h"

#include "http/websocket_handshake.h"

namespace mainspring::kube {
namespace {

// Load balancers drop connections that are silent for a minute or more.
constexpr Duration kPingPeriod = seconds(30);
constexpr std::size_t kPiece = std::size_t{32} * 1024;

}  // namespace

ChannelSocket::ChannelSocket(std::unique_ptr<net::Stream> stream, Random& random,
                             net::Executor& executor, std::string protocol)
    : socket_(std::move(stream), random, {}),
      protocol_(std::move(protocol)),
      background_(executor) {
  background_.spawn(socket_.keep_alive(kPingPeriod));
}

Task<Result<std::unique_ptr<ChannelSocket>>> ChannelSocket::open(
    Client* client, Call call, std::vector<std::string> protocols) {
  const net::Context context = co_await net::current_context();
  const auto offer = http::WebSocketOffer::make(client->random(), std::move(protocols));
  offer.add_to(call.headers);
  // These subresources have no JSON to offer and refuse whoever insists on it.
  call.accept = "*/*";
  const std::string what = call.what;
  MS_CO_TRY(http::Upgraded upgraded, co_await client->upgrade(std::move(call)));
  MS_CO_TRY(std::string protocol, with_context(offer.check(upgraded.headers), what));
  co_return std::make_unique<ChannelSocket>(std::move(upgraded.stream), client->random(),
                                            *context.executor, std::move(protocol));
}

Task<Result<std::optional<ChannelSocket::Piece>>> ChannelSocket::next() {
  for (;;) {
    MS_CO_TRY(const auto message, co_await socket_.next());
    if (!message) co_return std::nullopt;
    // Servers announce each channel by an empty message.
    if (message->data.size() < 2) continue;
    co_return Piece{static_cast<unsigned char>(message->data[0]), message->data.substr(1)};
  }
}

Task<Result<void>> ChannelSocket::send(unsigned char channel, std::string_view data) {
  const char prefix = static_cast<char>(channel);
  do {
    MS_CO_CHECK(co_await socket_.send(http::WebSocket::Kind::kBinary, data.substr(0, kPiece),
                                      std::string_view(&prefix, 1)));
    data.remove_prefix(std::min(kPiece, data.size()));
  } while (!data.empty());
  co_return Result<void>();
}

}  // namespace mainspring::kube
