// http/client.h
//
// Transport over real or simulated connections: keep-alive pools, deadlines, gzip, proxies. One per
// process and purpose (one for the API server, one for slurmrestd), on one loop. It must outlive
// the calls under way; the responses that open() gave may outlive it.
//
// A kept-alive connection that dies at the moment it is used again is replaced once, silently, but
// only where that cannot repeat an effect: no byte of an answer came, and the method is idempotent.
// It follows no redirects, stores no cookies, and retries nothing else: that is for its callers.
#pragma once

#include <cstddef>
#include <memory>
#include <string>

#include "http/connection_pool.h"
#include "http/proxy.h"
#include "http/transport.h"
#include "net/network.h"

namespace mainspring::http {

class Client final : public Transport {
 public:
  struct Options {
    ConnectionPool::Limits pool;
    // For requests that name none of their own.
    Duration timeout = seconds(30);
    std::size_t max_body = std::size_t{256} * 1024 * 1024;
    ParserLimits response_limits;
    bool accept_gzip = false;
    std::string user_agent = "mainspring";

    // For https. A request to an https URL without it is kInvalid.
    std::shared_ptr<net::TlsSource> tls;
    // The name that the server's certificate must carry, where it is not the URL's host.
    std::string server_name;
    // Connects here instead of to the URL's host; the URL still says what is asked of whom.
    std::string unix_socket;

    ProxyConfig proxy;
    // For a proxy that is itself spoken to by https.
    std::shared_ptr<net::TlsSource> proxy_tls;
  };

  // `executor` and `network` must outlive the client.
  Client(net::Executor& executor, net::Network& network, Options options);

  Task<Result<Response>> send(Request request) override;
  Task<Result<std::unique_ptr<StreamingResponse>>> open(Request request) override;
  Task<Result<Upgraded>> upgrade(Request request) override;

  std::size_t idle_connections() const { return pool_->idle_count(); }
  void close_idle_connections() { pool_->close_idle(); }

 private:
  struct Route;
  class Deadline;
  struct Exchange;

  Route route_to(const Url& url) const;
  Task<Result<std::unique_ptr<ClientConnection>>> connect(const Route* route);
  Task<Result<std::unique_ptr<net::Stream>>> open_tunnel(const Route* route,
                                                         std::unique_ptr<net::Stream> stream);
  Task<Result<Exchange>> exchange(const Request* request, bool upgrade, Deadline* deadline);
  Task<Result<Response>> send_within(const Request* request, Deadline* deadline);
  Task<Result<Upgraded>> upgrade_within(const Request* request, Deadline* deadline);

  net::Executor& executor_;
  net::Network& network_;
  Options options_;
  std::shared_ptr<ConnectionPool> pool_;
};

}  // namespace mainspring::http
