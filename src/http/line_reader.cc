#include "http/line_reader.h"

#include <fmt/format.h>

namespace mainspring::http {
namespace {

std::string_view without_return(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  return line;
}

}  // namespace

Task<Result<std::string>> read_all(StreamingResponse* response, std::size_t limit) {
  std::string body;
  for (;;) {
    MS_CO_TRY(const std::string_view piece, co_await response->next_chunk());
    if (piece.empty()) co_return body;
    if (piece.size() > limit - body.size()) {
      co_return fail(Code::kTooLarge, fmt::format("the body is larger than {} bytes", limit));
    }
    body.append(piece);
  }
}

std::optional<std::string_view> LineReader::take_line() {
  const auto end = chunk_.find('\n');
  if (end == std::string_view::npos) return std::nullopt;
  const std::string_view head = chunk_.substr(0, end);
  chunk_.remove_prefix(end + 1);
  if (partial_.empty()) return without_return(head);
  partial_.append(head);
  partial_given_ = true;
  return without_return(partial_);
}

Task<Result<std::optional<std::string_view>>> LineReader::next() {
  if (partial_given_) {
    partial_.clear();
    partial_given_ = false;
  }
  for (;;) {
    if (auto line = take_line()) {
      if (line->size() > max_line_) break;
      co_return line;
    }
    partial_.append(chunk_);
    chunk_ = {};
    if (partial_.size() > max_line_) break;
    if (!ended_) {
      MS_CO_TRY(chunk_, co_await response_->next_chunk());
      ended_ = chunk_.empty();
      if (!ended_) continue;
    }
    if (partial_.empty()) co_return std::nullopt;
    partial_given_ = true;
    co_return without_return(partial_);
  }
  chunk_ = {};
  partial_.clear();
  ended_ = true;
  co_return fail(Code::kTooLarge, fmt::format("a line of the body is longer than the limit of {} "
                                              "bytes",
                                              max_line_));
}

}  // namespace mainspring::http
