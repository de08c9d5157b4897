// Whatever the URL parser accepts can be written and read again without change, and can stand in a
// request line.
#include "http/url.h"

#include <cstdint>
#include <cstdlib>

#include "http/codec.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring::http;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  const auto url = Url::parse(text);
  if (url) {
    const auto again = Url::parse(url->to_string());
    if (!again || again->host != url->host || again->target() != url->target() ||
        again->effective_port() != url->effective_port()) {
      std::abort();
    }
    (void)url->query_pairs();
    std::string head;
    Request request;
    request.url = *url;
    if (!append_request_head(head, request, {})) std::abort();
    RequestParser parser({});
    parser.reset();
    std::string_view input = head;
    const auto event = parser.next(input);
    if (head.size() < 60'000 && (!event || *event != ParserEvent::kHead)) std::abort();
  }
  (void)Url::parse_target(text);
  (void)parse_host_port(text);
  (void)percent_decode(text, true);
  return 0;
}
