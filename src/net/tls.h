// net/tls.h
//
// TLS over any Stream. TlsContext is one immutable set of certificates and rules; TlsSource says
// which set a new handshake uses, so that files can rotate under a running server
// (net/rotating_tls.h). Certificates are judged by the executor's clock, so expiry can be tested.
//
// TLS 1.2 and newer, forward secrecy only, no renegotiation, no compression, no session resumption:
// each stream proves who it is.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "net/stream.h"

namespace mainspring::net {

// The library at work, for people who follow its security advisories: "OpenSSL 3.0.17 1 Jul 2025".
std::string tls_library();

enum class TlsVersion { k1_2, k1_3 };

struct TlsClientOptions {
  // Certificates, in PEM, of the authorities that may vouch for the server.
  std::string ca_pem;
  // Also those that the machine trusts. True if ca_pem is empty.
  bool system_roots = false;
  // Who we are, where the server asks: certificate chain (own one first) and private key, in PEM.
  std::string cert_pem;
  std::string key_pem;
  // Takes any certificate for any name. Encrypted, but with whom?
  bool insecure_skip_verify = false;
  TlsVersion min_version = TlsVersion::k1_2;
  std::vector<std::string> alpn = {"http/1.1"};
};

enum class ClientAuth {
  kNone,     // Not asked for a certificate.
  kRequest,  // Asked. One that client_ca_pem does not vouch for is let in with verified == false.
  kRequire,  // Refused without one that client_ca_pem vouches for.
};

struct TlsServerOptions {
  std::string cert_pem;  // Own certificate first, then the chain.
  std::string key_pem;
  ClientAuth client_auth = ClientAuth::kNone;
  std::string client_ca_pem;
  TlsVersion min_version = TlsVersion::k1_2;
  std::vector<std::string> alpn = {"http/1.1"};
};

class TlsContext;

// Gives the certificates and rules for the next handshake. Lives on one loop.
class TlsSource {
 public:
  virtual ~TlsSource() = default;
  // Null where there are none that can be used.
  virtual std::shared_ptr<const TlsContext> current() = 0;
};

// Never changes, and so is its own source. Streams keep it alive.
class TlsContext final : public TlsSource, public std::enable_shared_from_this<TlsContext> {
 public:
  // kInvalid names the part that cannot be used, a key that does not belong to its certificate
  // included.
  static Result<std::shared_ptr<TlsContext>> client(const TlsClientOptions& options);
  static Result<std::shared_ptr<TlsContext>> server(const TlsServerOptions& options);
  ~TlsContext() override;

  std::shared_ptr<const TlsContext> current() override { return shared_from_this(); }

  struct Impl;
  const Impl& impl() const { return *impl_; }
  explicit TlsContext(std::unique_ptr<Impl> impl);

 private:
  std::unique_ptr<Impl> impl_;
};

// The other side's certificate: Stream::peer_certificate().
struct PeerCertificate {
  // An authority that we trust vouches for it, for now and for this purpose. Without it the rest is
  // only what the peer says about itself.
  bool verified = false;
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> uris;
};

// Does the handshake and checks that the server is `server_name` (a DNS name or an IP address).
Task<Result<std::unique_ptr<Stream>>> tls_connect(std::unique_ptr<Stream> raw,
                                                  std::shared_ptr<const TlsContext> context,
                                                  std::string server_name);

// The handshake happens in the stream's first read or write.
std::unique_ptr<Stream> tls_accept(std::unique_ptr<Stream> raw,
                                   std::shared_ptr<const TlsContext> context);

}  // namespace mainspring::net
