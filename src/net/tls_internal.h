// net/tls_internal.h
//
// What the TLS files of this room share. Names OpenSSL, so it is included by .cc files only.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "net/tls.h"

namespace mainspring::net {

template <auto release>
struct Release {
  template <class T>
  void operator()(T* object) const {
    release(object);
  }
};
using SslCtxPtr = std::unique_ptr<SSL_CTX, Release<SSL_CTX_free>>;
using SslPtr = std::unique_ptr<SSL, Release<SSL_free>>;
using X509Ptr = std::unique_ptr<X509, Release<X509_free>>;
using KeyPtr = std::unique_ptr<EVP_PKEY, Release<EVP_PKEY_free>>;
using BioPtr = std::unique_ptr<BIO, Release<BIO_free>>;

struct TlsContext::Impl {
  SslCtxPtr ctx;
  bool is_client = false;
  bool insecure = false;
  ClientAuth client_auth = ClientAuth::kNone;
  std::string alpn;  // What a server speaks, in wire form.
};

// What the checks of one handshake found out; the SSL object's app data points to it.
struct TlsVerdict {
  std::string server_name;  // Whom a client wants to talk to.
  ClientAuth client_auth = ClientAuth::kNone;
  std::string refusal;  // Why the peer's certificate was refused; empty if it was not.
};

// OpenSSL's verify callback; leaves its finding in the TlsVerdict.
int check_certificate(int acceptable, X509_STORE_CTX* store);

// Every certificate of a PEM text, at least one. `field` names the text in errors.
Result<std::vector<X509Ptr>> read_certificates(const std::string& pem, const char* field);
Result<KeyPtr> read_private_key(const std::string& pem);

// Who a certificate is for, as it says itself, and the common name of who signed it.
PeerCertificate describe_certificate(const X509* certificate);
std::string issuer_name(const X509* certificate);
// The end of time where it is later than that ("99991231235959Z": never).
Result<WallTime> wall_time(const ASN1_TIME* time);

// What the peer showed, after the handshake. Nothing if it showed no certificate.
std::optional<PeerCertificate> describe_peer(SSL* ssl, bool verified);

// The thread's pending OpenSSL errors as one of ours, and clears them.
Error tls_error(const TlsVerdict& verdict);
// The reason of the latest of them only, and clears them: "bad decrypt".
std::string openssl_reason();

}  // namespace mainspring::net
