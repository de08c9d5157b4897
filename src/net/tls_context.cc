#include <fmt/format.h>
#include <openssl/crypto.h>
#include <openssl/err.h>
#include <openssl/pem.h>

#include <vector>

#include "net/tls_internal.h"

namespace mainspring::net {
namespace {

// Forward secrecy and authenticated encryption only. TLS 1.3 has nothing else.
constexpr const char* kTls12Ciphers = "ECDHE+AESGCM:ECDHE+CHACHA20";

// Without it OpenSSL would ask for a passphrase on the terminal.
int no_passphrase(char*, int, int, void*) { return 0; }

BioPtr reader_of(const std::string& text) {
  return BioPtr(BIO_new_mem_buf(text.data(), static_cast<int>(text.size())));
}

Result<void> use_certificate(SSL_CTX* ctx, const std::string& cert_pem,
                             const std::string& key_pem) {
  MS_TRY(const auto chain, read_certificates(cert_pem, "certificate"));
  MS_TRY(const KeyPtr key, read_private_key(key_pem));
  if (X509_check_private_key(chain.front().get(), key.get()) != 1) {
    ERR_clear_error();
    return fail(Code::kInvalid, "private key: it does not belong to the certificate");
  }
  bool usable = SSL_CTX_use_certificate(ctx, chain.front().get()) == 1 &&
                SSL_CTX_use_PrivateKey(ctx, key.get()) == 1;
  for (std::size_t i = 1; usable && i < chain.size(); ++i) {
    usable = SSL_CTX_add1_chain_cert(ctx, chain[i].get()) == 1;
  }
  if (!usable) return fail(Code::kInvalid, "certificate: it cannot be used: " + openssl_reason());
  return {};
}

Result<void> trust(SSL_CTX* ctx, const std::string& ca_pem, const char* field) {
  MS_TRY(const auto certificates, read_certificates(ca_pem, field));
  X509_STORE* store = SSL_CTX_get_cert_store(ctx);
  for (const X509Ptr& certificate : certificates) {
    // Told to trust an intermediate authority, we do not ask for the root above it.
    X509_STORE_set_flags(store, X509_V_FLAG_PARTIAL_CHAIN);
    if (X509_STORE_add_cert(store, certificate.get()) != 1) {
      return fail(Code::kInvalid, fmt::format("{}: {}", field, openssl_reason()));
    }
  }
  return {};
}

// The form that both sides send: each name after its length.
Result<std::string> alpn_wire(const std::vector<std::string>& protocols) {
  std::string wire;
  for (const std::string& protocol : protocols) {
    if (protocol.empty() || protocol.size() > 255) {
      return fail(Code::kInvalid, "alpn: a protocol's name has 1 to 255 characters");
    }
    wire += static_cast<char>(protocol.size());
    wire += protocol;
  }
  return wire;
}

Result<SslCtxPtr> new_ctx(const SSL_METHOD* method, TlsVersion min_version) {
  SslCtxPtr ctx(SSL_CTX_new(method));
  if (!ctx) return fail(Code::kInternal, "OpenSSL: " + openssl_reason());
  const int version = min_version == TlsVersion::k1_3 ? TLS1_3_VERSION : TLS1_2_VERSION;
  SSL_CTX_set_min_proto_version(ctx.get(), version);
  SSL_CTX_set_cipher_list(ctx.get(), kTls12Ciphers);
  SSL_CTX_set_options(ctx.get(), SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION |
                                     SSL_OP_NO_TICKET | SSL_OP_CIPHER_SERVER_PREFERENCE);
  // Buffers of 16 KB each way are kept only while a record is under way: most streams are idle.
  SSL_CTX_set_mode(ctx.get(), SSL_MODE_RELEASE_BUFFERS | SSL_MODE_AUTO_RETRY);
  SSL_CTX_set_session_cache_mode(ctx.get(), SSL_SESS_CACHE_OFF);
  SSL_CTX_set_num_tickets(ctx.get(), 0);
  return ctx;
}

int choose_alpn(SSL*, const unsigned char** out, unsigned char* out_size, const unsigned char* in,
                unsigned in_size, void* argument) {
  const auto& ours = *static_cast<const std::string*>(argument);
  unsigned char* chosen = nullptr;
  const int found =
      SSL_select_next_proto(&chosen, out_size, reinterpret_cast<const unsigned char*>(ours.data()),
                            static_cast<unsigned>(ours.size()), in, in_size);
  if (found != OPENSSL_NPN_NEGOTIATED) return SSL_TLSEXT_ERR_NOACK;
  *out = chosen;
  return SSL_TLSEXT_ERR_OK;
}

}  // namespace

Result<std::vector<X509Ptr>> read_certificates(const std::string& pem, const char* field) {
  ERR_clear_error();
  const BioPtr bio = reader_of(pem);
  std::vector<X509Ptr> certificates;
  while (X509* certificate = PEM_read_bio_X509(bio.get(), nullptr, no_passphrase, nullptr)) {
    certificates.emplace_back(certificate);
  }
  // The end of the text is reported as an error too.
  if (ERR_GET_REASON(ERR_peek_last_error()) != PEM_R_NO_START_LINE) {
    return fail(Code::kInvalid, fmt::format("{}: certificate {} cannot be read: {}", field,
                                            certificates.size() + 1, openssl_reason()));
  }
  ERR_clear_error();
  if (certificates.empty()) {
    return fail(Code::kInvalid, fmt::format("{}: there is no certificate in PEM form", field));
  }
  return certificates;
}

Result<KeyPtr> read_private_key(const std::string& pem) {
  const BioPtr bio = reader_of(pem);
  KeyPtr key(PEM_read_bio_PrivateKey(bio.get(), nullptr, no_passphrase, nullptr));
  if (!key) {
    return fail(Code::kInvalid, "private key: it cannot be read: " + openssl_reason() +
                                    ". It must be in PEM form and without a passphrase");
  }
  return key;
}

std::string tls_library() { return OpenSSL_version(OPENSSL_VERSION); }

TlsContext::TlsContext(std::unique_ptr<Impl> impl) : impl_(std::move(impl)) {}
TlsContext::~TlsContext() = default;

Result<std::shared_ptr<TlsContext>> TlsContext::client(const TlsClientOptions& options) {
  MS_TRY(SslCtxPtr ctx, new_ctx(TLS_client_method(), options.min_version));
  if (!options.ca_pem.empty()) MS_CHECK(trust(ctx.get(), options.ca_pem, "CA bundle"));
  if (options.system_roots || options.ca_pem.empty()) {
    SSL_CTX_set_default_verify_paths(ctx.get());
    ERR_clear_error();
  }
  if (!options.cert_pem.empty() || !options.key_pem.empty()) {
    MS_CHECK(use_certificate(ctx.get(), options.cert_pem, options.key_pem));
  }
  SSL_CTX_set_verify(ctx.get(), options.insecure_skip_verify ? SSL_VERIFY_NONE : SSL_VERIFY_PEER,
                     options.insecure_skip_verify ? nullptr : check_certificate);
  MS_TRY(const std::string alpn, alpn_wire(options.alpn));
  if (!alpn.empty()) {
    SSL_CTX_set_alpn_protos(ctx.get(), reinterpret_cast<const unsigned char*>(alpn.data()),
                            static_cast<unsigned>(alpn.size()));
  }
  auto impl = std::make_unique<Impl>();
  impl->ctx = std::move(ctx);
  impl->is_client = true;
  impl->insecure = options.insecure_skip_verify;
  return std::make_shared<TlsContext>(std::move(impl));
}

Result<std::shared_ptr<TlsContext>> TlsContext::server(const TlsServerOptions& options) {
  MS_TRY(SslCtxPtr ctx, new_ctx(TLS_server_method(), options.min_version));
  MS_CHECK(use_certificate(ctx.get(), options.cert_pem, options.key_pem));
  if (options.client_auth != ClientAuth::kNone) {
    MS_CHECK(trust(ctx.get(), options.client_ca_pem, "client CA bundle"));
    const int mode = options.client_auth == ClientAuth::kRequire
                         ? SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT
                         : SSL_VERIFY_PEER;
    SSL_CTX_set_verify(ctx.get(), mode, check_certificate);
  }
  auto impl = std::make_unique<Impl>();
  MS_TRY(impl->alpn, alpn_wire(options.alpn));
  SSL_CTX_set_alpn_select_cb(ctx.get(), choose_alpn, &impl->alpn);
  impl->ctx = std::move(ctx);
  impl->client_auth = options.client_auth;
  return std::make_shared<TlsContext>(std::move(impl));
}

}  // namespace mainspring::net
