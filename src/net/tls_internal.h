// net/tls_internal.h
//
// What the TLS files of this room share. Names OpenSSL, so it is included by .cc files only.
#pragma once

#include <openssl/ssl.h>
#include <openssl/x509v3.h>

#include <memory>
#include <optional>
#include <string>

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

// What the peer showed, after the handshake. Nothing if it showed no certificate.
std::optional<PeerCertificate> describe_peer(SSL* ssl, bool verified);

// The thread's pending OpenSSL errors as one of ours, and clears them.
Error tls_error(const TlsVerdict& verdict);
// The reason of the latest of them only, and clears them: "bad decrypt".
std::string openssl_reason();

}  // namespace mainspring::net
