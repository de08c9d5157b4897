#include "http/codec.h"

#include <gtest/gtest.h>
#include <rapidcheck.h>

namespace mainspring::http {
namespace {

struct Parsed {
  RequestHead head;
  std::string body;
  std::string rest;
};

// Feeds `text` in pieces of `step` bytes, as a connection would.
Result<Parsed> parse_request(std::string_view text, std::size_t step = 1 << 20,
                             ParserLimits limits = {}) {
  RequestParser parser(limits);
  parser.reset();
  Parsed parsed;
  std::string pending;
  for (;;) {
    std::string_view input = pending;
    auto event = parser.next(input);
    if (!event) return fail(std::move(event).error());
    if (*event == ParserEvent::kHead) parsed.head = parser.head();
    if (*event == ParserEvent::kBody) parsed.body.append(parser.body());
    pending.erase(0, pending.size() - input.size());
    if (*event == ParserEvent::kEnd) {
      parsed.rest = pending + std::string(text);
      return parsed;
    }
    if (*event != ParserEvent::kNeedMore) continue;
    if (text.empty()) return fail(Code::kTransient, "incomplete");
    pending.append(text.substr(0, step));
    text.remove_prefix(std::min(step, text.size()));
  }
}

Result<std::string> parse_response(std::string_view text, bool bodyless = false,
                                   ParserLimits limits = {}) {
  ResponseParser parser(limits);
  parser.reset(bodyless);
  std::string body;
  for (;;) {
    auto event = parser.next(text);
    if (!event) return fail(std::move(event).error());
    if (*event == ParserEvent::kBody) body.append(parser.body());
    if (*event == ParserEvent::kEnd) return body;
    if (*event == ParserEvent::kNeedMore) {
      MS_CHECK(parser.end_of_stream());
      return body;
    }
  }
}

TEST(RequestParser, ReadsHeadBodyAndLeavesTheRest) {
  const auto parsed = parse_request(
      "POST /a?b HTTP/1.1\r\nHost: x\r\nContent-Length: 5\r\nX:  y \r\n\r\nhelloGET /");
  ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
  EXPECT_EQ(parsed->head.method, Method::kPost);
  EXPECT_EQ(parsed->head.target, "/a?b");
  EXPECT_TRUE(parsed->head.keep_alive);
  EXPECT_TRUE(parsed->head.has_body);
  EXPECT_EQ(parsed->head.headers.get("x"), "y");
  EXPECT_EQ(parsed->body, "hello");
  EXPECT_EQ(parsed->rest, "GET /");
}

TEST(RequestParser, JoinsChunksAndSkipsTrailers) {
  const std::string text =
      "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n"
      "3\r\nabc\r\nA;ext=\"v\"\r\n0123456789\r\n0\r\nTrailer: t\r\n\r\nnext";
  for (std::size_t step = 1; step < text.size(); ++step) {
    const auto parsed = parse_request(text, step);
    ASSERT_TRUE(parsed.has_value()) << step << ": " << parsed.error().to_string();
    EXPECT_EQ(parsed->body, "abc0123456789");
    EXPECT_EQ(parsed->rest, "next");
    EXPECT_FALSE(parsed->head.headers.contains("Trailer"));
  }
}

TEST(RequestParser, KnowsWhenTheConnectionStaysOpen) {
  const auto keep_alive = [](std::string_view head) {
    return parse_request(std::string(head) + "\r\n\r\n")->head.keep_alive;
  };
  EXPECT_TRUE(keep_alive("GET / HTTP/1.1"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.1\r\nConnection: x, close"));
  EXPECT_FALSE(keep_alive("GET / HTTP/1.0"));
  EXPECT_TRUE(keep_alive("GET / HTTP/1.0\r\nConnection: keep-alive"));
}

TEST(RequestParser, AMethodNobodyKnowsIsNotASyntaxError) {
  const auto parsed = parse_request("BREW / HTTP/1.1\r\n\r\n");
  ASSERT_TRUE(parsed.has_value());
  EXPECT_EQ(parsed->head.method, std::nullopt);
  EXPECT_EQ(parsed->head.method_text, "BREW");
}

TEST(RequestParser, RefusesWhatCouldSmuggleARequest) {
  const std::string start = "POST / HTTP/1.1\r\nHost: x\r\n";
  for (const std::string_view fields :
       {"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n0\r\n\r\n",
        "Content-Length: 3\r\nContent-Length: 4\r\n\r\nabcd",
        "Content-Length: 3\r\nContent-Length: 3\r\n\r\nabc",
        "Content-Length: 3, 3\r\n\r\nabc",
        "Content-Length: +3\r\n\r\nabc",
        "Content-Length: -1\r\n\r\n",
        "Content-Length: 0x3\r\n\r\n",
        "Content-Length:\r\n\r\n",
        "Content-Length: 99999999999999999999999\r\n\r\n",
        "Content-Length : 3\r\n\r\nabc",
        "Transfer-Encoding: gzip\r\n\r\n",
        "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked, identity\r\n\r\n",
        "Transfer-Encoding: identity\r\n\r\n",
        "Transfer-Encoding: xchunked\r\n\r\n",
        "Transfer-Encoding:\013chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity\r\n\r\n0\r\n\r\n",
        "Transfer-Encoding:\r\n chunked\r\n\r\n0\r\n\r\n",
        "X: a\r\n b\r\n\r\n",
        "X:\r\n\tb\r\n\r\n",
        "X: a\r\n \r\n\r\n",
        "X: a\nY: b\r\n\r\n",
        "X: a\rY: b\r\n\r\n",
        "X: a\x01\r\n\r\n",
        "X: a\x7f\r\n\r\n",
        "X y: a\r\n\r\n",
        ": a\r\n\r\n",
        "X\r\n\r\n",
        " X: a\r\n\r\n"}) {
    const auto parsed = parse_request(start + std::string(fields));
    EXPECT_FALSE(parsed.has_value()) << fields;
    if (!parsed) EXPECT_NE(parsed.error().code(), Code::kTransient) << fields;
  }
  EXPECT_FALSE(parse_request(start + std::string("X: a\0b\r\n\r\n", 9)).has_value());
}

TEST(RequestParser, RefusesOddRequestLines) {
  for (const std::string_view text :
       {"GET / HTTP/1.1\n\n", "GET  / HTTP/1.1\r\n\r\n", "GET /a b HTTP/1.1\r\n\r\n",
        "GET /\x01 HTTP/1.1\r\n\r\n", "GET /\xc3 HTTP/1.1\r\n\r\n", "\r\nGET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/2.0\r\n\r\n", "GET / http/1.1\r\n\r\n", "GET /\r\n\r\n",
        "GE(T / HTTP/1.1\r\n\r\n",
        "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n"}) {
    const auto parsed = parse_request(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_NE(parsed.error().code(), Code::kTransient) << text;
  }
}

TEST(RequestParser, RefusesBrokenChunks) {
  const std::string start = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string_view body :
       {"x\r\n", "-1\r\n", "3\nabc\r\n0\r\n\r\n", "3\r\nabcd\r\n0\r\n\r\n",
        "3 3\r\nabc\r\n0\r\n\r\n", "ffffffffffffffff1\r\n", "\r\n", "0x3\r\nabc\r\n0\r\n\r\n",
        "0\r\nContent-Length: 5\r\n\r\n", "3;\x01\r\nabc\r\n0\r\n\r\n"}) {
    const auto parsed = parse_request(start + std::string(body));
    ASSERT_FALSE(parsed.has_value()) << body;
    EXPECT_NE(parsed.error().code(), Code::kTransient) << body;
  }
}

TEST(RequestParser, LimitsTheHeadHoweverItArrives) {
  const ParserLimits limits{1000, 100, 1000};
  std::string text = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 90; ++i) text += "Some-Name: some value\r\n";
  text += "\r\n";
  for (const std::size_t step : {std::size_t{1}, std::size_t{100}, std::size_t{5000}}) {
    const auto parsed = parse_request(text, step, limits);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().code(), Code::kTooLarge);
  }
}

TEST(RequestParser, LimitsTheNumberOfFields) {
  std::string text = "GET / HTTP/1.1\r\n";
  for (int i = 0; i < 11; ++i) text += "A: b\r\n";
  const auto parsed = parse_request(text + "\r\n", 1 << 20, ParserLimits{10'000, 10, 0});
  ASSERT_FALSE(parsed.has_value());
  EXPECT_EQ(parsed.error().code(), Code::kTooLarge);
}

TEST(RequestParser, LimitsTheBodyByLengthAndByChunks) {
  const ParserLimits limits{10'000, 10, 4};
  EXPECT_TRUE(parse_request("POST / HTTP/1.1\r\nContent-Length: 4\r\n\r\nabcd", 99, limits));
  const auto length =
      parse_request("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nabcde", 99, limits);
  ASSERT_FALSE(length.has_value());
  EXPECT_EQ(length.error().code(), Code::kTooLarge);
  const auto chunks = parse_request(
      "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n", 99,
      limits);
  ASSERT_FALSE(chunks.has_value());
  EXPECT_EQ(chunks.error().code(), Code::kTooLarge);
}

TEST(RequestParser, LimitsChunkExtensionsAndTrailers) {
  const ParserLimits limits{500, 10, 100};
  const std::string start = "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n";
  for (const std::string& tail :
       {"1;" + std::string(2000, 'x'), "0\r\nX: " + std::string(2000, 'x')}) {
    const auto parsed = parse_request(start + tail, 50, limits);
    ASSERT_FALSE(parsed.has_value());
    EXPECT_EQ(parsed.error().code(), Code::kTooLarge);
  }
}

TEST(RequestParser, SaysWithWhichStatusToRefuse) {
  const auto status = [](std::string_view text) {
    RequestParser parser(ParserLimits{200, 3, 4});
    parser.reset();
    while (auto event = parser.next(text)) {
      if (*event == ParserEvent::kNeedMore || *event == ParserEvent::kEnd) return 0;
    }
    return parser.error_status();
  };
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA\r\n\r\n"), 400);
  EXPECT_EQ(status("GET / HTTP/3.0\r\n\r\n"), 505);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\n"), 413);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA: " + std::string(300, 'x')), 431);
  EXPECT_EQ(status("GET / HTTP/1.1\r\nA: 1\r\nA: 1\r\nA: 1\r\nA: 1\r\n\r\n"), 431);
  EXPECT_EQ(status("POST / HTTP/1.1\r\nTransfer-Encoding: gzip\r\n\r\n"), 501);
}

TEST(ResponseParser, ReadsEveryWayABodyCanEnd) {
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"), "hi");
  EXPECT_EQ(
      parse_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n\r\n"),
      "hi");
  EXPECT_EQ(parse_response("HTTP/1.0 200 OK\r\n\r\nuntil the end"), "until the end");
}

TEST(RequestParser, TheLastChunkMayComeByteByByte) {
  const auto parsed =
      parse_request("POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 1);
  ASSERT_TRUE(parsed.has_value()) << parsed.error().to_string();
  EXPECT_EQ(parsed->body, "");
}

TEST(ResponseParser, SomeResponsesNeverHaveABody) {
  EXPECT_EQ(parse_response("HTTP/1.1 204 No Content\r\nContent-Length: 5\r\n\r\n"), "");
  EXPECT_EQ(parse_response("HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n"), "");
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\n", true), "");
  EXPECT_EQ(parse_response("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n", true), "");
}

TEST(ResponseParser, ABodyThatIsCutOffIsAnError) {
  for (const char* text :
       {"", "HTTP/1.1 20", "HTTP/1.1 200 OK\r\nA: b\r\n",
        "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nhi",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n",
        "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhi\r\n0\r\n"}) {
    const auto parsed = parse_response(text);
    ASSERT_FALSE(parsed.has_value()) << text;
    EXPECT_EQ(parsed.error().code(), Code::kTransient) << text;
  }
}

TEST(ResponseParser, RefusesImpossibleStatusLines) {
  for (const char* text :
       {"HTTP/1.1 099 X\r\n\r\n", "HTTP/1.1 600 X\r\n\r\n", "HTTP/1.1 2x0 X\r\n\r\n",
        "ICY 200 OK\r\n\r\n", "HTTP/1.1 200 O\x01K\r\n\r\n"}) {
    EXPECT_FALSE(parse_response(text).has_value()) << text;
  }
}

TEST(RequestHead, IsWrittenWithHostFirst) {
  Request request;
  request.method = Method::kPost;
  request.url = *Url::parse("http://[::1]:8080/a?b=c");
  request.headers.add("Accept", "application/json");
  request.headers.add("Content-Length", "999");
  request.body = "hi";
  std::string out;
  RequestFraming framing;
  framing.user_agent = "test";
  ASSERT_TRUE(append_request_head(out, request, framing).has_value());
  EXPECT_EQ(out,
            "POST /a?b=c HTTP/1.1\r\nHost: [::1]:8080\r\nAccept: application/json\r\n"
            "User-Agent: test\r\nContent-Length: 2\r\n\r\n");
}

TEST(RequestHead, HasTheAbsoluteFormForProxies) {
  Request request;
  request.url = *Url::parse("http://a/x");
  std::string out;
  RequestFraming framing;
  framing.form = TargetForm::kAbsolute;
  framing.proxy_authorization = "Basic eDp5";
  ASSERT_TRUE(append_request_head(out, request, framing).has_value());
  EXPECT_EQ(out, "GET http://a/x HTTP/1.1\r\nHost: a\r\nProxy-Authorization: Basic eDp5\r\n\r\n");
}

TEST(RequestHead, NothingCanBeInjected) {
  const auto head = [](const Request& request) {
    std::string out;
    return append_request_head(out, request, {});
  };
  Request request;
  request.url = *Url::parse("http://a/");
  EXPECT_TRUE(head(request).has_value());
  Request in_value = request;
  in_value.headers.add("X", "a\r\nY: b");
  EXPECT_FALSE(head(in_value).has_value());
  Request in_name = request;
  in_name.headers.add("X: a\r\nY", "b");
  EXPECT_FALSE(head(in_name).has_value());
  Request in_path = request;
  in_path.url.path = "/ HTTP/1.1\r\nX: y";
  EXPECT_FALSE(head(in_path).has_value());
  Request in_host = request;
  in_host.url.host = "a\r\nX: y";
  EXPECT_FALSE(head(in_host).has_value());
}

TEST(ResponseHead, OwnsTheFraming) {
  std::string out;
  const Headers headers{
      {"Content-Type", "a/b"}, {"Transfer-Encoding", "chunked"}, {"connection", "x"}};
  ASSERT_TRUE(append_response_head(out, 200, headers, 3, {}).has_value());
  EXPECT_EQ(out, "HTTP/1.1 200 OK\r\nContent-Type: a/b\r\nContent-Length: 3\r\n\r\n");
  out.clear();
  ASSERT_TRUE(append_response_head(out, 204, {}, 3, {}).has_value());
  EXPECT_EQ(out, "HTTP/1.1 204 No Content\r\n\r\n");
}

TEST(Codec, WhatIsWrittenIsReadBack) {
  EXPECT_TRUE(rc::check("chunked round trip", [](const std::vector<std::string>& pieces) {
    std::string wire;
    ResponseFraming framing;
    framing.chunked = true;
    RC_ASSERT(append_response_head(wire, 200, {{"A", "b"}}, 0, framing).has_value());
    std::string whole;
    for (const std::string& piece : pieces) {
      append_chunk(wire, piece);
      whole += piece;
    }
    wire += kLastChunk;
    RC_ASSERT(parse_response(wire).value() == whole);
  }));
}

}  // namespace
}  // namespace mainspring::http
