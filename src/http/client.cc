#include "http/client.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "base/text.h"
#include "http/body_reader.h"
#include "http/not_sent.h"
#include "http/status.h"
#include "net/tls.h"
#include "net/wait.h"

namespace mainspring::http {
namespace {

// How much of a refusal to an upgrade is worth reading.
constexpr std::size_t kMaxErrorBody = std::size_t{64} * 1024;

// Being woken costs more than reading an event of a watch does. So a streamed body of which bytes
// came within kDense is left alone for kGather, and one read then takes all of the next events.
// Those that come alone are never delayed, nor is a body that comes as fast as it can be read.
constexpr Duration kDense = milliseconds(1);
constexpr Duration kGather = milliseconds(8);

// Without the query, which may hold what does not belong in logs.
std::string describe(const Request& request) {
  return fmt::format("{} {}{}", to_string(request.method), request.url.origin(), request.url.path);
}

bool is_gzip(const Headers& headers) {
  const auto coding = headers.get("Content-Encoding");
  return coding && (equals_ignore_case(*coding, "gzip") || equals_ignore_case(*coding, "x-gzip"));
}

class ClientStreamingResponse final : public StreamingResponse {
 public:
  ClientStreamingResponse(ConnectionPool::Lease lease, int status, Headers headers, bool gzip,
                          std::optional<Duration> idle_timeout, std::string what)
      : lease_(std::move(lease)),
        status_(status),
        headers_(std::move(headers)),
        reader_(lease_.connection(), gzip, std::numeric_limits<std::size_t>::max()),
        idle_timeout_(idle_timeout),
        what_(std::move(what)) {}

  int status() const override { return status_; }
  const Headers& headers() const override { return headers_; }

  Task<Result<std::string_view>> next_chunk() override {
    if (failure_) co_return fail(*failure_);
    while (!ended_) {
      auto piece = reader_.take();
      if (!piece) co_return give_up(std::move(piece).error());
      if (*piece) {
        ended_ = (*piece)->empty();
        if (ended_) lease_.give_back();
        co_return **piece;
      }
      Result<void> more = co_await read_more();
      if (!more) co_return give_up(std::move(more).error());
    }
    co_return std::string_view();
  }

 private:
  // Pieces that come one upon the other are gathered.
  Task<Result<void>> read_more() {
    const net::Context context = co_await net::current_context();
    if (dense_) {
      lease_.connection()->pause_reading();
      MS_CO_CHECK(co_await net::sleep(kGather));
    }
    const TimePoint began = context.executor->now();
    MS_CO_TRY(const bool more, co_await read_in_time());
    dense_ = !more && context.executor->now() - began < kDense;
    co_return Result<void>();
  }

  Task<Result<bool>> read_in_time() {
    if (!idle_timeout_) return lease_.connection()->read_more();
    return net::with_timeout(*idle_timeout_, "waiting for the next piece of the body",
                             lease_.connection()->read_more());
  }

  tl::unexpected<Error> give_up(Error error) {
    failure_ = std::move(error).with_context(what_);
    return fail(*failure_);
  }

  ConnectionPool::Lease lease_;
  int status_;
  Headers headers_;
  BodyReader reader_;
  std::optional<Duration> idle_timeout_;
  std::string what_;
  bool dense_ = false;  // The last piece was hardly waited for.
  bool ended_ = false;
  std::optional<Error> failure_;
};

}  // namespace

// Where a request's connection leads, and what is in between.
struct Client::Route {
  Url url;
  std::string key;  // Requests with the same key can share connections.
  net::Endpoint endpoint;
  const ProxyServer* proxy = nullptr;

  bool tunnel() const { return proxy != nullptr && url.is_https(); }
  bool absolute_form() const { return proxy != nullptr && !url.is_https(); }
};

// One time limit over several steps. The error says which of them it ran out in.
class Client::Deadline {
 public:
  Deadline(net::Executor& executor, net::CancelScope* parent, Duration limit)
      : scope_(parent), timer_(executor, limit, [this, limit] {
          const auto count = std::chrono::duration_cast<milliseconds>(limit).count();
          scope_.cancel(Error(Code::kTimeout, fmt::format("no end after {} ms: timed out while {}",
                                                          count, phase_)));
        }) {}

  void enter(std::string_view phase) { phase_ = phase; }
  net::CancelScope& scope() { return scope_; }

 private:
  std::string_view phase_ = "starting";
  net::CancelScope scope_;
  net::Timer timer_;
};

struct Client::Exchange {
  ConnectionPool::Lease lease;
  ResponseHead* head;
  bool gzip = false;
};

Client::Client(net::Executor& executor, net::Network& network, Options options)
    : executor_(executor),
      network_(network),
      options_(std::move(options)),
      pool_(std::make_shared<ConnectionPool>(executor, options_.pool)) {}

Client::Route Client::route_to(const Url& url) const {
  Route route{url, url.origin(), net::Endpoint::tcp(url.host, url.effective_port()), nullptr};
  if (!options_.unix_socket.empty()) {
    route.endpoint = net::Endpoint::unix_socket(options_.unix_socket);
    return route;
  }
  route.proxy = options_.proxy.choose(url);
  if (route.proxy == nullptr) return route;
  const Url& proxy = route.proxy->url;
  route.endpoint = net::Endpoint::tcp(proxy.host, proxy.effective_port());
  route.key = route.tunnel() ? url.origin() + " via " + proxy.origin() : "via " + proxy.origin();
  return route;
}

Task<Result<std::unique_ptr<ClientConnection>>> Client::connect(const Route* route) {
  if (route->url.is_https() && !options_.tls) {
    co_return fail(Code::kInvalid, "this client has no TLS settings, so it cannot use https");
  }
  net::ConnectOptions how;
  if (route->proxy != nullptr) {
    if (route->proxy->url.is_https()) {
      how.tls = options_.proxy_tls;
      if (!how.tls) {
        co_return fail(Code::kInvalid, "this client has no TLS settings for an https proxy");
      }
    }
  } else if (route->url.is_https()) {
    how.tls = options_.tls;
    how.server_name = options_.server_name.empty() ? route->url.host : options_.server_name;
  }
  MS_CO_TRY(auto stream, co_await network_.connect(route->endpoint, std::move(how)));
  if (route->tunnel()) {
    MS_CO_TRY(stream, co_await open_tunnel(route, std::move(stream)));
  }
  co_return std::make_unique<ClientConnection>(std::move(stream), options_.response_limits);
}

Task<Result<std::unique_ptr<net::Stream>>> Client::open_tunnel(
    const Route* route, std::unique_ptr<net::Stream> stream) {
  const std::string where = route->url.host_and_port();
  std::string head = fmt::format("CONNECT {0} HTTP/1.1\r\nHost: {0}\r\n", where);
  if (!route->proxy->authorization.empty()) {
    head += fmt::format("Proxy-Authorization: {}\r\n", route->proxy->authorization);
  }
  head += "\r\n";
  ClientConnection connection(std::move(stream), options_.response_limits);
  MS_CO_CHECK(co_await connection.write_request(head, {}, true));
  MS_CO_TRY(ResponseHead* const answer, co_await connection.read_head(false));
  if (answer->status / 100 != 2) {
    const Response refusal{answer->status, std::move(answer->headers), {}};
    co_return fail(status_error(
        refusal, fmt::format("CONNECT {} through proxy {}", where, route->proxy->url.origin()),
        executor_.clock().wall_now()));
  }
  co_return co_await net::tls_connect(
      connection.release(), options_.tls->current(),
      options_.server_name.empty() ? route->url.host : options_.server_name);
}

Task<Result<Client::Exchange>> Client::exchange(const Request* request, bool upgrade,
                                                Deadline* deadline) {
  if (request->method == Method::kConnect) {
    co_return fail(Code::kInvalid, "CONNECT is for proxies; set Options::proxy instead");
  }
  const Route route = route_to(request->url);
  const bool own_gzip = options_.accept_gzip && !request->headers.contains("Accept-Encoding");
  RequestFraming framing;
  framing.form = route.absolute_form() ? TargetForm::kAbsolute : TargetForm::kOrigin;
  framing.upgrade = upgrade;
  framing.accept_gzip = own_gzip && !upgrade;
  framing.user_agent = options_.user_agent;
  if (route.absolute_form()) framing.proxy_authorization = route.proxy->authorization;
  std::string head;
  MS_CO_CHECK(append_request_head(head, *request, framing));

  for (bool again = false;; again = true) {
    deadline->enter("waiting for a free connection");
    MS_CO_TRY(ConnectionPool::Lease lease, co_await pool_->acquire(route.key, again));
    if (lease.connection() == nullptr) {
      deadline->enter("connecting");
      auto connection = co_await connect(&route);
      if (!connection) co_return fail(not_sent(std::move(connection).error()));
      lease.put(*std::move(connection));
    }
    ClientConnection* const connection = lease.connection();
    deadline->enter("sending the request");
    auto sent =
        co_await connection->write_request(head, request->body, request->method == Method::kHead);
    Result<ResponseHead*> answer = nullptr;
    if (sent) {
      deadline->enter("waiting for the response headers");
      answer = co_await connection->read_head(upgrade);
    } else {
      answer = fail(std::move(sent).error());
    }
    if (answer) {
      const bool gzip = own_gzip && is_gzip((*answer)->headers);
      co_return Exchange{std::move(lease), *answer, gzip};
    }
    const bool was_stale = lease.reused() && !connection->answered() && !again &&
                           answer.error().code() == Code::kTransient;
    if (!was_stale || !is_idempotent(request->method)) {
      co_return fail(std::move(answer).error());
    }
  }
}

Task<Result<Response>> Client::send_within(const Request* request, Deadline* deadline) {
  MS_CO_TRY(Exchange exchange, co_await this->exchange(request, false, deadline));
  deadline->enter("reading the body");
  const std::size_t limit = request->limits.max_body.value_or(options_.max_body);
  const auto too_large = [limit] {
    return fail(Code::kTooLarge, fmt::format("the response body is larger than the limit of {} "
                                             "bytes",
                                             limit));
  };
  Response response{exchange.head->status, std::move(exchange.head->headers), {}};
  if (exchange.gzip) {
    response.headers.remove("Content-Encoding");
    response.headers.remove("Content-Length");
  } else if (exchange.head->has_body && exchange.head->content_length) {
    if (*exchange.head->content_length > limit) co_return too_large();
    // The length is only what the server says: trusted for a moderate amount, grown into otherwise.
    response.body.reserve(std::min<std::uint64_t>(*exchange.head->content_length, 1 << 20));
  }
  BodyReader reader(exchange.lease.connection(), exchange.gzip, limit);
  for (;;) {
    MS_CO_TRY(const auto piece, reader.take());
    if (!piece) {
      MS_CO_CHECK(co_await exchange.lease.connection()->read_more());
      continue;
    }
    if (piece->empty()) break;
    if (piece->size() > limit - response.body.size()) co_return too_large();
    response.body.append(*piece);
  }
  exchange.lease.give_back();
  co_return response;
}

Task<Result<Response>> Client::send(Request request) {
  const net::Context context = co_await net::current_context();
  Deadline deadline(executor_, context.scope, request.limits.timeout.value_or(options_.timeout));
  auto response = co_await send_within(&request, &deadline).in(deadline.scope());
  if (!response) co_return with_context(std::move(response), describe(request));
  co_return response;
}

Task<Result<std::unique_ptr<StreamingResponse>>> Client::open(Request request) {
  const net::Context context = co_await net::current_context();
  Deadline deadline(executor_, context.scope, request.limits.timeout.value_or(options_.timeout));
  auto begun = co_await exchange(&request, false, &deadline).in(deadline.scope());
  if (!begun) co_return fail(std::move(begun).error().with_context(describe(request)));
  Headers headers = std::move(begun->head->headers);
  if (begun->gzip) {
    headers.remove("Content-Encoding");
    headers.remove("Content-Length");
  }
  const int status = begun->head->status;
  co_return std::make_unique<ClientStreamingResponse>(
      std::move(begun->lease), status, std::move(headers), begun->gzip, request.limits.idle_timeout,
      describe(request));
}

Task<Result<Upgraded>> Client::upgrade_within(const Request* request, Deadline* deadline) {
  MS_CO_TRY(Exchange exchange, co_await this->exchange(request, true, deadline));
  ClientConnection* const connection = exchange.lease.connection();
  Response answer{exchange.head->status, std::move(exchange.head->headers), {}};
  if (answer.status == 101) co_return Upgraded{std::move(answer.headers), connection->release()};
  deadline->enter("reading why the upgrade was refused");
  while (answer.body.size() < kMaxErrorBody) {
    MS_CO_TRY(const auto piece, connection->take_body());
    if (!piece) {
      MS_CO_CHECK(co_await connection->read_more());
      continue;
    }
    if (piece->empty()) break;
    answer.body.append(*piece);
  }
  co_return fail(status_error(answer, "the upgrade", executor_.clock().wall_now()));
}

Task<Result<Upgraded>> Client::upgrade(Request request) {
  if (!request.headers.contains("Upgrade")) {
    co_return fail(Code::kInvalid, "an upgrade needs an Upgrade header that names the protocol");
  }
  const net::Context context = co_await net::current_context();
  Deadline deadline(executor_, context.scope, request.limits.timeout.value_or(options_.timeout));
  co_return with_context(co_await upgrade_within(&request, &deadline).in(deadline.scope()),
                         describe(request));
}

}  // namespace mainspring::http
