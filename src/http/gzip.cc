#include "http/gzip.h"

#include <fmt/format.h>
#include <zlib.h>

#include <algorithm>
#include <array>
#include <limits>

namespace mainspring::http {
namespace {

// zlib's way of asking for a gzip head and check sum instead of its own.
constexpr int kGzipWindow = 15 + 16;

// zlib takes its input by non-const pointer and never writes through it.
Bytef* input_pointer(std::string_view text) {
  return reinterpret_cast<Bytef*>(const_cast<char*>(text.data()));
}

}  // namespace

struct GzipDecoder::Impl {
  explicit Impl(std::size_t most) : limit(most) {
    ready = inflateInit2(&stream, kGzipWindow) == Z_OK;
  }
  ~Impl() {
    if (ready) inflateEnd(&stream);
  }
  Impl(const Impl&) = delete;
  Impl& operator=(const Impl&) = delete;

  Result<void> inflate_some(std::string& out);

  z_stream stream{};
  std::size_t limit;
  std::size_t produced = 0;
  bool ready = false;
  bool in_member = false;  // Between a member's first byte and its check sum.
  bool any_member = false;
};

GzipDecoder::GzipDecoder(std::size_t limit) : impl_(std::make_unique<Impl>(limit)) {}
GzipDecoder::~GzipDecoder() = default;
GzipDecoder::GzipDecoder(GzipDecoder&&) noexcept = default;
GzipDecoder& GzipDecoder::operator=(GzipDecoder&&) noexcept = default;

Result<void> GzipDecoder::Impl::inflate_some(std::string& out) {
  std::array<char, 16'384> buffer;
  stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
  stream.avail_out = static_cast<uInt>(buffer.size());
  const int status = inflate(&stream, Z_NO_FLUSH);
  const std::size_t count = buffer.size() - stream.avail_out;
  if (count > limit - produced) {
    return fail(Code::kTooLarge,
                fmt::format("the gzip body is larger than {} bytes when decompressed", limit));
  }
  produced += count;
  out.append(buffer.data(), count);
  if (status == Z_STREAM_END) {
    in_member = false;
    inflateReset(&stream);
  } else if (status == Z_BUF_ERROR && stream.avail_in == 0) {
    return {};  // Only says that it needs more input.
  } else if (status != Z_OK) {
    return fail(Code::kInvalid, fmt::format("the gzip body is damaged: {}",
                                            stream.msg != nullptr ? stream.msg : "no detail"));
  }
  return {};
}

Result<void> GzipDecoder::feed(std::string_view input, std::string& out) {
  if (!impl_->ready) return fail(Code::kInternal, "zlib could not start: out of memory");
  while (!input.empty()) {
    const std::string_view piece = input.substr(0, std::size_t{std::numeric_limits<uInt>::max()});
    input.remove_prefix(piece.size());
    impl_->stream.next_in = input_pointer(piece);
    impl_->stream.avail_in = static_cast<uInt>(piece.size());
    do {
      if (impl_->stream.avail_in > 0) impl_->in_member = impl_->any_member = true;
      MS_CHECK(impl_->inflate_some(out));
    } while (impl_->stream.avail_in > 0 || (impl_->in_member && impl_->stream.avail_out == 0));
  }
  return {};
}

Result<void> GzipDecoder::finish() const {
  if (impl_->in_member || !impl_->any_member) {
    return fail(Code::kInvalid, "the gzip body ends too early");
  }
  return {};
}

std::string gzip_compress(std::string_view text) {
  z_stream stream{};
  deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, kGzipWindow, 8, Z_DEFAULT_STRATEGY);
  std::string out(deflateBound(&stream, static_cast<uLong>(text.size())) + 32, '\0');
  stream.next_in = input_pointer(text);
  stream.avail_in = static_cast<uInt>(text.size());
  stream.next_out = reinterpret_cast<Bytef*>(out.data());
  stream.avail_out = static_cast<uInt>(out.size());
  deflate(&stream, Z_FINISH);
  out.resize(stream.total_out);
  deflateEnd(&stream);
  return out;
}

Result<std::string> gzip_decompress(std::string_view bytes, std::size_t limit) {
  GzipDecoder decoder(limit);
  std::string out;
  MS_CHECK(decoder.feed(bytes, out));
  MS_CHECK(decoder.finish());
  return out;
}

}  // namespace mainspring::http
