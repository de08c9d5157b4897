#include "kube/port_forward.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "kube/channel_socket.h"
#include "kube/resource.h"

namespace mainspring::kube {
namespace {

constexpr unsigned char kData = 0;
constexpr unsigned char kErrors = 1;
constexpr std::size_t kMaxError = 4096;

// The kubelet begins each channel with the port, as two bytes, the lower first.
class PortPrefix {
 public:
  explicit PortPrefix(std::uint16_t port)
      : left_{static_cast<char>(port & 0xFFU), static_cast<char>(port >> 8U)} {}

  // Takes the prefix, or what is here of it, off the front.
  Result<void> strip(std::string_view& data) {
    const std::size_t count = std::min(left_.size(), data.size());
    if (data.substr(0, count) != std::string_view(left_).substr(0, count)) {
      return fail(Code::kInvalid, "the kubelet forwards another port than the one asked for");
    }
    left_.erase(0, count);
    data.remove_prefix(count);
    return {};
  }

 private:
  std::string left_;
};

class ForwardedStream final : public net::Stream {
 public:
  ForwardedStream(std::unique_ptr<ChannelSocket> socket, std::string peer, std::uint16_t port)
      : socket_(std::move(socket)),
        peer_(std::move(peer)),
        data_prefix_(port),
        error_prefix_(port) {}

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    while (pending_.empty()) {
      MS_CO_TRY(auto piece, co_await socket_->next());
      if (!piece) co_return end();
      if (piece->channel == kData) {
        MS_CO_CHECK(data_prefix_.strip(piece->data));
        pending_ = piece->data;
      } else if (piece->channel == kErrors) {
        MS_CO_CHECK(error_prefix_.strip(piece->data));
        error_.append(piece->data.substr(0, kMaxError - error_.size()));
      }
    }
    const std::size_t count = std::min(into.size(), pending_.size());
    std::copy_n(pending_.begin(), count, into.begin());
    pending_.remove_prefix(count);
    co_return count;
  }

  Task<Result<void>> write(std::string_view bytes) override {
    if (bytes.empty()) co_return Result<void>();
    co_return co_await socket_->send(kData, bytes);
  }
  Task<Result<void>> finish() override { co_return Result<void>(); }
  void close() override { socket_->socket().abort(); }
  bool idle_and_open() const override {
    return pending_.empty() && socket_->socket().stream().idle_and_open();
  }
  std::string peer() const override { return peer_; }

 private:
  Result<std::size_t> end() const {
    if (error_.empty()) return 0;
    return fail(Code::kTransient,
                fmt::format("connecting to {}: {}", peer_, sanitize_utf8(error_)));
  }

  std::unique_ptr<ChannelSocket> socket_;
  std::string peer_;
  PortPrefix data_prefix_;
  PortPrefix error_prefix_;
  std::string_view pending_;  // What the last message has left.
  std::string error_;
};

}  // namespace

Task<Result<std::unique_ptr<net::Stream>>> port_forward(Client* client, std::string ns,
                                                        std::string pod, std::uint16_t port) {
  static const Resource kPods{"", "v1", "pods", "Pod", true};
  if (port == 0) co_return fail(Code::kInvalid, "port 0 of a pod cannot be forwarded");
  std::string peer = fmt::format("pod/{}/{}:{}", ns, pod, port);
  Call call;
  call.path = kPods.path(ns, pod, "portforward");
  call.query = {{"ports", std::to_string(port)}};
  call.what = "forwarding to " + peer;
  MS_CO_TRY(auto socket,
            co_await ChannelSocket::open(client, std::move(call), {"v4.channel.k8s.io"}));
  co_return std::make_unique<ForwardedStream>(std::move(socket), std::move(peer), port);
}

}  // namespace mainspring::kube
