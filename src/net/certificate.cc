#include "net/certificate.h"

#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/rand.h>

#include <array>
#include <ctime>
#include <utility>

#include "net/tls_internal.h"

namespace mainspring::net {
namespace {

using NamesPtr = std::unique_ptr<GENERAL_NAMES, Release<GENERAL_NAMES_free>>;
using NamePtr = std::unique_ptr<GENERAL_NAME, Release<GENERAL_NAME_free>>;
using NumberPtr = std::unique_ptr<BIGNUM, Release<BN_free>>;

tl::unexpected<Error> openssl_failure(const std::string& what) {
  return fail(Code::kInternal, fmt::format("{}: OpenSSL says: {}", what, openssl_reason()));
}

std::string text_in(BIO* bio) {
  char* data = nullptr;
  const auto size = BIO_get_mem_data(bio, &data);
  return std::string(data, static_cast<std::size_t>(size));
}

Result<std::string> pem_of(X509* certificate) {
  const BioPtr bio(BIO_new(BIO_s_mem()));
  if (!bio || PEM_write_bio_X509(bio.get(), certificate) != 1) {
    return openssl_failure("writing a certificate");
  }
  return text_in(bio.get());
}

Result<Secret> pem_of(EVP_PKEY* key) {
  // Memory that OpenSSL wipes when it is freed.
  const BioPtr bio(BIO_new(BIO_s_secmem()));
  if (!bio ||
      PEM_write_bio_PrivateKey(bio.get(), key, nullptr, nullptr, 0, nullptr, nullptr) != 1) {
    return openssl_failure("writing a private key");
  }
  return Secret(text_in(bio.get()));
}

Result<KeyPtr> new_key() {
  KeyPtr key(EVP_EC_gen("P-256"));
  if (!key) return openssl_failure("making a key");
  return key;
}

std::time_t time_of(WallTime time) {
  return std::chrono::floor<seconds>(time).time_since_epoch().count();
}

// 127 random bits: never negative, never the same twice.
bool set_serial(X509* certificate) {
  std::array<unsigned char, 16> bytes{};
  if (RAND_bytes(bytes.data(), static_cast<int>(bytes.size())) != 1) return false;
  bytes[0] &= 0x7FU;
  const NumberPtr number(BN_bin2bn(bytes.data(), static_cast<int>(bytes.size()), nullptr));
  return number && BN_to_ASN1_INTEGER(number.get(), X509_get_serialNumber(certificate)) != nullptr;
}

Result<void> set_name(X509_NAME* subject, int nid, const char* field, const std::string& value) {
  // Its length in characters is bounded by the standard (64); OpenSSL counts.
  if (X509_NAME_add_entry_by_NID(subject, nid, MBSTRING_UTF8,
                                 reinterpret_cast<const unsigned char*>(value.data()),
                                 static_cast<int>(value.size()), -1, 0) != 1) {
    return fail(Code::kInvalid, fmt::format("{}: {}", field, openssl_reason()));
  }
  return {};
}

Result<X509Ptr> blank(const std::string& common_name, const std::vector<std::string>& organizations,
                      const Validity& validity, EVP_PKEY* key) {
  if (validity.until <= validity.from) {
    return fail(Code::kInvalid, "validity: a certificate must begin before it ends");
  }
  X509Ptr certificate(X509_new());
  X509* raw = certificate.get();
  if (raw == nullptr || X509_set_version(raw, X509_VERSION_3) != 1 || !set_serial(raw) ||
      ASN1_TIME_set(X509_getm_notBefore(raw), time_of(validity.from)) == nullptr ||
      ASN1_TIME_set(X509_getm_notAfter(raw), time_of(validity.until)) == nullptr ||
      X509_set_pubkey(raw, key) != 1) {
    return openssl_failure("making a certificate");
  }
  X509_NAME* subject = X509_get_subject_name(raw);
  for (const std::string& organization : organizations) {
    MS_CHECK(set_name(subject, NID_organizationName, "organization", organization));
  }
  if (!common_name.empty()) {
    MS_CHECK(set_name(subject, NID_commonName, "common name", common_name));
  }
  return certificate;
}

// `value` is written in this file, never by a caller: OpenSSL would read more into it.
Result<void> add_extension(X509* certificate, X509* issuer, int nid, const char* value) {
  X509V3_CTX context{};
  X509V3_set_ctx(&context, issuer, certificate, nullptr, nullptr, 0);
  using ExtensionPtr = std::unique_ptr<X509_EXTENSION, Release<X509_EXTENSION_free>>;
  const ExtensionPtr extension(X509V3_EXT_conf_nid(nullptr, &context, nid, value));
  if (!extension || X509_add_ext(certificate, extension.get(), -1) != 1) {
    return openssl_failure(fmt::format("adding {}", OBJ_nid2ln(nid)));
  }
  return {};
}

Result<NamePtr> dns_name(const std::string& text) {
  for (const char c : text) {
    if (c <= ' ' || c > '~') {
      return fail(Code::kInvalid, "DNS name: it may have printable ASCII characters only");
    }
  }
  ASN1_IA5STRING* value = ASN1_IA5STRING_new();
  NamePtr name(GENERAL_NAME_new());
  if (value == nullptr || !name || text.empty() ||
      ASN1_STRING_set(value, text.data(), static_cast<int>(text.size())) != 1) {
    ASN1_IA5STRING_free(value);
    return fail(Code::kInvalid, "DNS name: it is empty or too long");
  }
  GENERAL_NAME_set0_value(name.get(), GEN_DNS, value);
  return name;
}

Result<NamePtr> ip_name(const std::string& text) {
  ASN1_OCTET_STRING* value = a2i_IPADDRESS(text.c_str());
  NamePtr name(GENERAL_NAME_new());
  if (value == nullptr || !name) {
    ASN1_OCTET_STRING_free(value);
    ERR_clear_error();
    return fail(Code::kInvalid, fmt::format("\"{}\" is not an IP address", text));
  }
  GENERAL_NAME_set0_value(name.get(), GEN_IPADD, value);
  return name;
}

Result<void> add_names(X509* certificate, const CertificateRequest& request) {
  if (request.dns_names.empty() && request.ip_addresses.empty()) return {};
  const NamesPtr names(GENERAL_NAMES_new());
  for (const std::string& text : request.dns_names) {
    MS_TRY(NamePtr name, dns_name(text));
    if (sk_GENERAL_NAME_push(names.get(), name.get()) > 0) (void)name.release();
  }
  for (const std::string& text : request.ip_addresses) {
    MS_TRY(NamePtr name, ip_name(text));
    if (sk_GENERAL_NAME_push(names.get(), name.get()) > 0) (void)name.release();
  }
  if (X509_add1_ext_i2d(certificate, NID_subject_alt_name, names.get(), 0, 0) != 1) {
    return openssl_failure("adding alternative names");
  }
  return {};
}

Result<CertifiedKey> sign(X509* certificate, EVP_PKEY* key, EVP_PKEY* signer) {
  if (X509_sign(certificate, signer, EVP_sha256()) <= 0) {
    return openssl_failure("signing a certificate");
  }
  MS_TRY(std::string cert_pem, pem_of(certificate));
  MS_TRY(Secret key_pem, pem_of(key));
  return CertifiedKey{std::move(cert_pem), std::move(key_pem)};
}

const char* usage_of(const CertificateRequest& request) {
  if (request.for_servers && request.for_clients) return "serverAuth,clientAuth";
  return request.for_clients ? "clientAuth" : "serverAuth";
}

Result<CertificateInfo> describe_whole(X509* certificate) {
  PeerCertificate names = describe_certificate(certificate);
  CertificateInfo info;
  MS_TRY(info.pem, pem_of(certificate));
  MS_TRY(info.validity.from, wall_time(X509_get0_notBefore(certificate)));
  MS_TRY(info.validity.until, wall_time(X509_get0_notAfter(certificate)));
  info.common_name = std::move(names.common_name);
  info.issuer = issuer_name(certificate);
  info.organizations = std::move(names.organizations);
  info.dns_names = std::move(names.dns_names);
  info.ip_addresses = std::move(names.ip_addresses);
  info.uris = std::move(names.uris);
  info.is_ca = X509_check_ca(certificate) == 1;
  ERR_clear_error();
  return info;
}

}  // namespace

Result<CertifiedKey> make_ca(const CaRequest& request) {
  if (request.common_name.empty()) {
    return fail(Code::kInvalid, "common name: an authority must have one");
  }
  MS_TRY(const KeyPtr key, new_key());
  MS_TRY(const X509Ptr made, blank(request.common_name, {}, request.validity, key.get()));
  X509* ca = made.get();
  X509_set_issuer_name(ca, X509_get_subject_name(ca));
  // It signs end certificates only: path length 0.
  MS_CHECK(add_extension(ca, ca, NID_basic_constraints, "critical,CA:TRUE,pathlen:0"));
  MS_CHECK(add_extension(ca, ca, NID_key_usage, "critical,keyCertSign,cRLSign"));
  MS_CHECK(add_extension(ca, ca, NID_subject_key_identifier, "hash"));
  return sign(ca, key.get(), key.get());
}

Result<CertifiedKey> issue(const CertifiedKey& ca, const CertificateRequest& request) {
  MS_TRY(const auto issuers, read_certificates(ca.cert_pem, "authority's certificate"));
  MS_TRY(const KeyPtr signer, read_private_key(ca.key_pem.reveal()));
  X509* issuer = issuers.front().get();
  if (X509_check_private_key(issuer, signer.get()) != 1) {
    ERR_clear_error();
    return fail(Code::kInvalid, "authority's private key does not belong to its certificate");
  }
  MS_TRY(const KeyPtr key, new_key());
  MS_TRY(const X509Ptr made,
         blank(request.common_name, request.organizations, request.validity, key.get()));
  X509* certificate = made.get();
  X509_set_issuer_name(certificate, X509_get_subject_name(issuer));
  MS_CHECK(add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE"));
  MS_CHECK(add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature"));
  MS_CHECK(add_extension(certificate, issuer, NID_ext_key_usage, usage_of(request)));
  // Authorities that follow one another have one name; this tells which of them it was.
  MS_CHECK(add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always"));
  MS_CHECK(add_names(certificate, request));
  return sign(certificate, key.get(), signer.get());
}

Result<std::vector<CertificateInfo>> inspect_all(const std::string& pem) {
  MS_TRY(const auto certificates, read_certificates(pem, "certificate"));
  std::vector<CertificateInfo> infos;
  for (const X509Ptr& certificate : certificates) {
    MS_TRY(CertificateInfo info, describe_whole(certificate.get()));
    infos.push_back(std::move(info));
  }
  return infos;
}

Result<CertificateInfo> inspect(const std::string& pem) {
  MS_TRY(const auto certificates, read_certificates(pem, "certificate"));
  return describe_whole(certificates.front().get());
}

bool key_fits(const CertifiedKey& pair) {
  const auto certificates = read_certificates(pair.cert_pem, "certificate");
  if (!certificates) return false;
  const auto key = read_private_key(pair.key_pem.reveal());
  const bool fits = key && X509_check_private_key(certificates->front().get(), key->get()) == 1;
  ERR_clear_error();
  return fits;
}

bool is_issued_by(const std::string& cert_pem, const std::string& ca_pem) {
  const auto certificate = read_certificates(cert_pem, "certificate");
  const auto ca = read_certificates(ca_pem, "authority's certificate");
  if (!certificate || !ca) return false;
  X509* issuer = ca->front().get();
  X509* issued = certificate->front().get();
  const bool signed_by_it = X509_check_issued(issuer, issued) == X509_V_OK &&
                            X509_verify(issued, X509_get0_pubkey(issuer)) == 1;
  ERR_clear_error();
  return signed_by_it;
}

}  // namespace mainspring::net
