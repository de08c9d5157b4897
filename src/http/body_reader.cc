#include "http/body_reader.h"

namespace mainspring::http {
namespace {

// Bounds one decoded piece to about 4 MiB, as gzip gives out at most some 1,030 times what goes in.
constexpr std::size_t kSlice = std::size_t{4} * 1024;

}  // namespace

BodyReader::BodyReader(ClientConnection* connection, bool gzip, std::size_t limit)
    : connection_(connection) {
  if (gzip) gzip_.emplace(limit);
}

Result<std::optional<std::string_view>> BodyReader::take() {
  if (!gzip_) return connection_->take_body();
  for (;;) {
    if (!compressed_.empty()) {
      const std::string_view slice = compressed_.substr(0, kSlice);
      compressed_.remove_prefix(slice.size());
      decoded_.clear();
      MS_CHECK(gzip_->feed(slice, decoded_));
      if (!decoded_.empty()) return std::string_view(decoded_);
      continue;
    }
    MS_TRY(const auto piece, connection_->take_body());
    if (!piece) return std::nullopt;
    if (piece->empty()) {
      // An empty body needs no gzip around it, whatever its Content-Encoding says.
      if (any_compressed_) MS_CHECK(gzip_->finish());
      return std::string_view();
    }
    compressed_ = *piece;
    any_compressed_ = true;
  }
}

}  // namespace mainspring::http
