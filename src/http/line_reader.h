// http/line_reader.h
//
// A body read line by line, as a Kubernetes watch is. Owned by the task that reads. A line that
// lies within one piece of the body is handed out where it is; only one that spans pieces is
// copied, once.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "http/transport.h"

namespace mainspring::http {

class LineReader {
 public:
  LineReader(std::unique_ptr<StreamingResponse> response, std::size_t max_line)
      : response_(std::move(response)), max_line_(max_line) {}

  const StreamingResponse& response() const { return *response_; }

  // The next line without its end ("\n" or "\r\n"), empty lines included, valid until the next
  // call; nullopt at the end of the body. What follows the last "\n" is a line too. kTooLarge for a
  // line over the limit, after which nothing more can be read.
  Task<Result<std::optional<std::string_view>>> next();

 private:
  std::optional<std::string_view> take_line();

  std::unique_ptr<StreamingResponse> response_;
  std::size_t max_line_;
  std::string_view chunk_;  // What is left of the current piece.
  std::string partial_;     // The beginning of a line from earlier pieces.
  bool partial_given_ = false;
  bool ended_ = false;
};

}  // namespace mainspring::http
