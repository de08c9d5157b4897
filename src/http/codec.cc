// Beast 1.81 asserts that the last chunk's head comes with two more bytes at least, which a peer
// can make false by sending "0\r\n" and then a single byte; the code behind the assertion copes.
// Without this any peer could end a debug build.
#define BOOST_DISABLE_ASSERTS

#include "http/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <boost/beast/http/basic_parser.hpp>
#include <functional>

#include "base/text.h"

namespace mainspring::http {
namespace {

namespace beast = boost::beast::http;
using boost::beast::error_code;
using BeastView = boost::beast::string_view;

std::string_view to_std(BeastView view) { return {view.data(), view.size()}; }

bool all_digits(std::string_view text) {
  return !text.empty() &&
         std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
}

// Beast's parser with our stricter rules on top. It sees the message once and keeps only the head.
template <bool is_request, class Head>
class Core final : public beast::basic_parser<is_request> {
 public:
  explicit Core(const ParserLimits& limits) : limits_(limits) {
    // Ours counts over all calls; Beast's only within one.
    this->header_limit(static_cast<std::uint32_t>(
        std::min<std::size_t>(limits.header_bytes, std::numeric_limits<std::uint32_t>::max())));
    if (limits.body_bytes == std::numeric_limits<std::uint64_t>::max()) {
      this->body_limit(boost::none);
    } else {
      this->body_limit(limits.body_bytes);
    }
  }

  Result<ParserEvent> next(std::string_view& input, Head& head) {
    head_ = &head;
    body_ = {};
    while (!this->is_done()) {
      if (input.empty()) return ParserEvent::kNeedMore;
      const bool head_was_done = this->is_header_done();
      error_code problem;
      input_ = input;
      const std::size_t taken =
          this->put(boost::asio::const_buffer(input.data(), input.size()), problem);
      input.remove_prefix(taken);
      if (!head_was_done) MS_CHECK(count_header_bytes(taken, input.size()));
      if (problem == beast::error::need_more) {
        // Only heads, chunk heads and trailers are ever incomplete, so this limits what is
        // buffered.
        if (input.size() > limits_.header_bytes) return too_large(431, "chunk head or trailer");
        return ParserEvent::kNeedMore;
      }
      if (problem) return failure(problem);
      if (!head_was_done && this->is_header_done()) {
        describe(head);
        return ParserEvent::kHead;
      }
      if (!body_.empty()) return ParserEvent::kBody;
    }
    return ParserEvent::kEnd;
  }

  std::string_view body() const { return body_; }
  int error_status() const { return error_status_; }

 private:
  Result<void> count_header_bytes(std::size_t taken, std::size_t left) {
    header_bytes_ += taken;
    const bool complete = this->is_header_done();
    if (header_bytes_ + (complete ? 0 : left) > limits_.header_bytes) {
      return too_large(431, "message head");
    }
    return {};
  }

  void describe(Head& head) {
    head.keep_alive = this->keep_alive();
    head.has_body = !this->is_done();
    if (const auto length = this->content_length()) head.content_length = *length;
    head_done_ = true;
  }

  tl::unexpected<Error> too_large(int status, std::string_view what) {
    error_status_ = status;
    return fail(Code::kTooLarge, fmt::format("the HTTP {} is larger than the limit of {} bytes",
                                             what, limits_.header_bytes));
  }

  tl::unexpected<Error> failure(const error_code& problem) {
    if (problem == beast::error::header_limit) return too_large(431, "message head");
    if (problem == beast::error::body_limit) {
      error_status_ = 413;
      return fail(Code::kTooLarge, fmt::format("the HTTP body is larger than the limit of {} bytes",
                                               limits_.body_bytes));
    }
    if (refusal_) return fail(*refusal_);
    if (problem == beast::error::bad_version) error_status_ = 505;
    return fail(Code::kInvalid, fmt::format("malformed HTTP message: {}", problem.message()));
  }

  void refuse(error_code& problem, int status, Code code, std::string why) {
    problem = beast::error::bad_value;
    error_status_ = status;
    refusal_.emplace(code, "malformed HTTP message: " + std::move(why));
  }

  void on_request_impl(beast::verb, BeastView method, BeastView target, int version,
                       error_code& problem) override {
    if constexpr (is_request) {
      head_->method_text = to_std(method);
      head_->method = parse_method(head_->method_text);
      head_->target = to_std(target);
      head_->http_1_0 = version == 10;
      if (std::any_of(target.begin(), target.end(), [](char c) { return (c & 0x80) != 0; })) {
        refuse(problem, 400, Code::kInvalid, "the request target holds bytes that are not ASCII");
      }
    }
  }

  void on_response_impl(int status, BeastView reason, int version, error_code& problem) override {
    if constexpr (!is_request) {
      head_->status = status;
      head_->reason = to_std(reason);
      head_->http_1_0 = version == 10;
      if (status < 100 || status > 599) {
        refuse(problem, 400, Code::kInvalid, fmt::format("there is no status {}", status));
      }
    }
  }

  // Beast joins folded lines, either in a buffer of its own or by skipping the line end in ours.
  bool is_folded(BeastView name, BeastView value) const {
    const char* begin = input_.data();
    const char* end = begin + input_.size();
    const std::less<const char*> before;
    if (before(value.data(), begin) || before(end, value.data())) return true;
    const char* name_end = name.data() + name.size();
    return std::find(name_end, value.data(), '\r') != value.data();
  }

  void on_field_impl(beast::field field, BeastView name, BeastView value,
                     error_code& problem) override {
    if (++field_count_ > limits_.header_count) {
      return refuse(problem, 431, Code::kTooLarge,
                    fmt::format("it has more than {} header fields", limits_.header_count));
    }
    if (is_folded(name, value)) {
      return refuse(problem, 400, Code::kInvalid, "a header field continues on a second line");
    }
    if (field == beast::field::content_length) {
      if (saw_length_) return refuse(problem, 400, Code::kInvalid, "Content-Length comes twice");
      if (!all_digits(to_std(value))) {
        return refuse(problem, 400, Code::kInvalid, "Content-Length is not one number");
      }
      saw_length_ = true;
    }
    if (field == beast::field::transfer_encoding) {
      if (!equals_ignore_case(to_std(value), "chunked")) {
        return refuse(problem, 501, Code::kUnsupported, "a transfer coding other than chunked");
      }
      if (head_->http_1_0) {
        return refuse(problem, 400, Code::kInvalid, "HTTP/1.0 has no Transfer-Encoding");
      }
    }
    // Trailers come after the head was handed out. Nobody reads them.
    if (!head_done_) head_->headers.add(to_std(name), to_std(value));
  }

  void on_header_impl(error_code&) override {}
  void on_body_init_impl(const boost::optional<std::uint64_t>&, error_code&) override {}
  std::size_t on_body_impl(BeastView body, error_code&) override {
    body_ = to_std(body);
    return body.size();
  }
  void on_chunk_header_impl(std::uint64_t, BeastView, error_code&) override {}
  std::size_t on_chunk_body_impl(std::uint64_t, BeastView body, error_code&) override {
    body_ = to_std(body);
    return body.size();
  }
  void on_finish_impl(error_code&) override {}

  ParserLimits limits_;
  Head* head_ = nullptr;
  std::string_view input_;
  std::string_view body_;
  std::size_t header_bytes_ = 0;
  std::size_t field_count_ = 0;
  bool head_done_ = false;
  bool saw_length_ = false;
  int error_status_ = 400;
  std::optional<Error> refusal_;
};

void clear(MessageHead& head) {
  head.keep_alive = false;
  head.http_1_0 = false;
  head.has_body = false;
  head.content_length.reset();
  head.headers.clear();
  // Room for an ordinary head at the first field.
  head.headers.reserve(12, 512);
}

}  // namespace

struct RequestParser::Impl {
  explicit Impl(ParserLimits with) : limits(with) { core.emplace(limits); }
  ParserLimits limits;
  RequestHead head;
  std::optional<Core<true, RequestHead>> core;
};

RequestParser::RequestParser(ParserLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
RequestParser::~RequestParser() = default;

Result<ParserEvent> RequestParser::next(std::string_view& input) {
  return impl_->core->next(input, impl_->head);
}
int RequestParser::error_status() const { return impl_->core->error_status(); }
bool RequestParser::started() const { return impl_->core->got_some(); }
const RequestHead& RequestParser::head() const { return impl_->head; }
RequestHead& RequestParser::mutable_head() { return impl_->head; }
std::string_view RequestParser::body() const { return impl_->core->body(); }

void RequestParser::reset() {
  clear(impl_->head);
  impl_->head.method.reset();
  impl_->core.emplace(impl_->limits);
}

struct ResponseParser::Impl {
  explicit Impl(ParserLimits with) : limits(with) { core.emplace(limits); }
  ParserLimits limits;
  ResponseHead head;
  std::optional<Core<false, ResponseHead>> core;
};

ResponseParser::ResponseParser(ParserLimits limits) : impl_(std::make_unique<Impl>(limits)) {}
ResponseParser::~ResponseParser() = default;

Result<ParserEvent> ResponseParser::next(std::string_view& input) {
  return impl_->core->next(input, impl_->head);
}

Result<void> ResponseParser::end_of_stream() {
  if (impl_->core->is_done()) return {};
  if (!impl_->core->got_some()) {
    return fail(Code::kTransient, "the server closed the connection without an answer");
  }
  error_code problem;
  impl_->core->put_eof(problem);
  if (problem) return fail(Code::kTransient, "the server closed the connection in mid-answer");
  return {};
}

bool ResponseParser::started() const { return impl_->core->got_some(); }
const ResponseHead& ResponseParser::head() const { return impl_->head; }
ResponseHead& ResponseParser::mutable_head() { return impl_->head; }
std::string_view ResponseParser::body() const { return impl_->core->body(); }

void ResponseParser::reset(bool bodyless) {
  clear(impl_->head);
  impl_->head.status = 0;
  impl_->core.emplace(impl_->limits);
  impl_->core->skip(bodyless);
}

}  // namespace mainspring::http
