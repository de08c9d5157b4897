// tests/sim/watch_stream.h
//
// A watch as the body of a response: reads the storage's history from where it stands, and waits
// there for more. Owned by whoever opened it; the KubeApi that made it must outlive it.
#pragma once

#include <memory>
#include <string>

#include "http/transport.h"
#include "sim/kinds.h"
#include "sim/selector.h"
#include "sim/storage.h"

namespace mainspring::sim {

struct WatchRequest {
  std::shared_ptr<const Kind> kind;
  std::string ns;
  Selector selector;
  std::uint64_t from = 0;
  bool all_first = false;     // The present objects as ADDED.
  bool mark_the_end = false;  // And a bookmark behind them.
  bool bookmarks = false;
  Duration timeout{};
  Duration bookmark_every{};
};

class WatchStream final : public http::StreamingResponse {
 public:
  // `epoch` counts the server's restarts: when it changes, the connection is lost.
  WatchStream(net::Executor& executor, Storage& storage, const std::uint64_t& epoch,
              WatchRequest request);

  int status() const override { return 200; }
  const http::Headers& headers() const override { return headers_; }
  http::Task<Result<std::string_view>> next_chunk() override;

 private:
  void begin();
  void fill();
  void add_event(std::string_view type, json::Value object);
  void add_bookmark(bool initial_end);
  void add_change(const Change& change);
  bool selects(const json::Value& object) const;

  net::Executor& executor_;
  Storage& storage_;
  const std::uint64_t& epoch_;
  const std::uint64_t opened_in_;
  WatchRequest request_;
  http::Headers headers_;
  TimePoint ends_;
  TimePoint next_bookmark_;
  std::uint64_t seen_;
  std::string pending_;
  std::string given_;
  bool ended_ = false;
};

}  // namespace mainspring::sim
