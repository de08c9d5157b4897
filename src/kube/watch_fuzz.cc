// Whatever a watch sends is an event, an error or the end, and comes to the same by the byte as in
// one piece.
#include "kube/watch.h"

#include <cstdlib>
#include <string>
#include <vector>

#include "kube/core_objects.h"
#include "net/virtual_executor.h"

namespace mainspring::kube {
namespace {

class Body final : public http::StreamingResponse {
 public:
  Body(std::string text, std::size_t piece) : text_(std::move(text)), piece_(piece) {}
  int status() const override { return 200; }
  const http::Headers& headers() const override { return headers_; }
  Task<Result<std::string_view>> next_chunk() override {
    const std::string_view chunk = std::string_view(text_).substr(at_, piece_);
    at_ += chunk.size();
    co_return chunk;
  }

 private:
  std::string text_;
  std::size_t piece_;
  std::size_t at_ = 0;
  http::Headers headers_;
};

std::vector<std::string> events(const std::string& text, std::size_t piece) {
  net::VirtualExecutor executor;
  Watch<ConfigMap> watch(std::make_unique<Body>(text, piece));
  std::vector<std::string> all;
  while (true) {
    const auto event = executor.run(watch.next());
    if (!event) {
      if (event.error().message().empty()) std::abort();
      all.push_back(event.error().to_string());
      return all;
    }
    if (!*event) return all;
    const bool bookmark = (*event)->type == WatchEventType::kBookmark;
    if (bookmark != ((*event)->object == nullptr)) std::abort();
    if (!bookmark && (*event)->initial_events_end) std::abort();
    all.push_back((*event)->resource_version);
  }
}

}  // namespace
}  // namespace mainspring::kube

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using mainspring::kube::events;
  const std::string text(reinterpret_cast<const char*>(data), size);
  if (events(text, size + 1) != events(text, 1)) std::abort();
  return 0;
}
