// http/read_buffer.h
//
// Bytes that have arrived on a connection and are not understood yet. Owned by one connection.
// Holds no memory until the first read, and grows only when a read fills it or a head does not fit,
// so that thousands of idle connections stay cheap. The parsers' limits bound it.
#pragma once

#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace mainspring::http {

class ReadBuffer {
 public:
  std::string_view view() const { return {bytes_.data() + begin_, end_ - begin_}; }
  bool empty() const { return begin_ == end_; }
  // Leaves only the last `count` bytes of view(): what a parser has not taken.
  void keep_last(std::size_t count) { begin_ = end_ - count; }

  // Before a wait that may be long: a large buffer is not kept for nothing.
  void rest() {
    if (empty() && bytes_.size() > kKeepAtRest) {
      bytes_ = {};
      begin_ = end_ = 0;
    }
  }

  // Where the next read goes: never empty. Views taken before are invalid afterwards.
  std::span<char> space() {
    if (begin_ == end_) begin_ = end_ = 0;
    const bool was_filled = end_ == bytes_.size();
    if (was_filled && begin_ > 0) {
      std::memmove(bytes_.data(), bytes_.data() + begin_, end_ - begin_);
      end_ -= begin_;
      begin_ = 0;
    }
    const bool wants_more = full_reads_ >= 2 && bytes_.size() < kLargest;
    if (end_ == bytes_.size() || wants_more) {
      bytes_.resize(bytes_.empty() ? kSmallest : bytes_.size() * 2);
      full_reads_ = 0;
    }
    return {bytes_.data() + end_, bytes_.size() - end_};
  }
  void commit(std::size_t count) {
    end_ += count;
    full_reads_ = end_ == bytes_.size() ? full_reads_ + 1 : 0;
  }

 private:
  static constexpr std::size_t kSmallest = std::size_t{4} * 1024;
  static constexpr std::size_t kKeepAtRest = std::size_t{16} * 1024;
  static constexpr std::size_t kLargest = std::size_t{64} * 1024;

  std::vector<char> bytes_;
  std::size_t begin_ = 0;
  std::size_t end_ = 0;
  int full_reads_ = 0;
};

}  // namespace mainspring::http
