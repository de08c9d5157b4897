#include "net/memory_stream.h"

#include <algorithm>
#include <optional>

#include "net/one_shot.h"

namespace mainspring::net {
namespace {

// One direction: bytes that one end has written and the other has not read yet.
struct Channel {
  std::string bytes;
  std::size_t taken = 0;  // How many at the front were read already.
  bool finished = false;
  bool reader_gone = false;
  std::optional<OneShot<Unit>> reader;

  void wake() {
    if (reader) reader->set(Unit{});
  }
  bool empty() const { return taken == bytes.size(); }
  std::size_t take(std::span<char> into) {
    const std::size_t count = std::min(into.size(), bytes.size() - taken);
    std::copy_n(bytes.begin() + static_cast<std::ptrdiff_t>(taken), count, into.begin());
    taken += count;
    // Not at each read: moving the rest every time would make large transfers quadratic.
    if (taken * 2 >= bytes.size()) bytes.erase(0, std::exchange(taken, 0));
    return count;
  }
  void clear() {
    bytes.clear();
    taken = 0;
  }
};

class MemoryStream final : public Stream {
 public:
  MemoryStream(std::shared_ptr<Channel> in, std::shared_ptr<Channel> out)
      : in_(std::move(in)), out_(std::move(out)) {}
  ~MemoryStream() override { close(); }

  Task<Result<std::size_t>> read_some(std::span<char> into) override {
    const auto in = in_;
    while (in->empty()) {
      if (in->reader_gone) co_return fail(Code::kCancelled, "the stream was closed");
      if (in->finished) co_return std::size_t{0};
      in->reader.emplace();
      auto arrived = co_await OneShot<Unit>(*in->reader).wait();
      in->reader.reset();
      if (!arrived) co_return fail(std::move(arrived).error());
    }
    co_return in->take(into);
  }

  Task<Result<void>> write(std::string_view bytes) override {
    if (out_->finished) co_return fail(Code::kCancelled, "the stream was closed");
    if (out_->reader_gone) co_return fail(Code::kTransient, "the other end closed the stream");
    out_->bytes.append(bytes);
    out_->wake();
    co_return Result<void>();
  }

  Task<Result<void>> finish() override {
    out_->finished = true;
    out_->wake();
    co_return Result<void>();
  }

  void close() override {
    out_->finished = true;
    out_->wake();
    in_->reader_gone = true;
    in_->clear();
    in_->wake();
  }

  bool idle_and_open() const override {
    return in_->empty() && !in_->finished && !in_->reader_gone && !out_->reader_gone;
  }

  std::string peer() const override { return "memory"; }

 private:
  std::shared_ptr<Channel> in_;
  std::shared_ptr<Channel> out_;
};

}  // namespace

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> make_memory_streams() {
  auto there = std::make_shared<Channel>();
  auto back = std::make_shared<Channel>();
  return {std::make_unique<MemoryStream>(there, back), std::make_unique<MemoryStream>(back, there)};
}

}  // namespace mainspring::net
