#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>

#include <array>

#include "net/tls_internal.h"

namespace mainspring::net {
namespace {

std::string text_of(const ASN1_STRING* string) {
  unsigned char* utf8 = nullptr;
  const int size = ASN1_STRING_to_UTF8(&utf8, string);
  if (size < 0) {
    ERR_clear_error();
    return {};
  }
  std::string text(reinterpret_cast<char*>(utf8), static_cast<std::size_t>(size));
  OPENSSL_free(utf8);
  return text;
}

std::vector<std::string> entries(const X509_NAME* name, int nid) {
  std::vector<std::string> values;
  for (int at = X509_NAME_get_index_by_NID(name, nid, -1); at >= 0;
       at = X509_NAME_get_index_by_NID(name, nid, at)) {
    values.push_back(text_of(X509_NAME_ENTRY_get_data(X509_NAME_get_entry(name, at))));
  }
  return values;
}

std::string ip_text(const ASN1_OCTET_STRING* bytes) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const int family = ASN1_STRING_length(bytes) == 4 ? AF_INET : AF_INET6;
  if (family == AF_INET6 && ASN1_STRING_length(bytes) != 16) return {};
  inet_ntop(family, ASN1_STRING_get0_data(bytes), text.data(), text.size());
  return text.data();
}

std::string names_of(const X509* certificate) {
  const PeerCertificate peer = describe_certificate(certificate);
  std::vector<std::string> names = peer.dns_names;
  names.insert(names.end(), peer.ip_addresses.begin(), peer.ip_addresses.end());
  if (!names.empty()) return fmt::format("{}", fmt::join(names, ", "));
  return "no name at all (it has no subject alternative names)";
}

std::string date_text(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) return "an unreadable time";
  return fmt::format("{:04}-{:02}-{:02}T{:02}:{:02}:{:02}Z", parts.tm_year + 1900, parts.tm_mon + 1,
                     parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec);
}

std::string why_refused(int error, const X509* certificate, const std::string& server_name) {
  const std::string who =
      entries(X509_get_subject_name(certificate), NID_commonName).empty()
          ? "certificate"
          : "certificate \"" + describe_certificate(certificate).common_name + "\"";
  switch (error) {
    case X509_V_ERR_HOSTNAME_MISMATCH:
    case X509_V_ERR_IP_ADDRESS_MISMATCH:
      return fmt::format("certificate is for {}, not for {}", names_of(certificate), server_name);
    case X509_V_ERR_CERT_HAS_EXPIRED:
      return who + " has expired, on " + date_text(X509_get0_notAfter(certificate));
    case X509_V_ERR_CERT_NOT_YET_VALID:
      return who + " is not valid before " + date_text(X509_get0_notBefore(certificate));
    case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT:
    case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT:
    case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY:
    case X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE: {
      const std::string issuer = issuer_name(certificate);
      return fmt::format("{} is signed by an authority that is not trusted, \"{}\"", who,
                         issuer.empty() ? "without a name" : issuer);
    }
    default:
      return fmt::format("{}: {}", who, X509_verify_cert_error_string(error));
  }
}

bool peer_refuses_our_certificate(int alert) {
  switch (alert) {
    case SSL3_AD_BAD_CERTIFICATE:
    case SSL3_AD_UNSUPPORTED_CERTIFICATE:
    case SSL3_AD_CERTIFICATE_REVOKED:
    case SSL3_AD_CERTIFICATE_EXPIRED:
    case SSL3_AD_CERTIFICATE_UNKNOWN:
    case TLS1_AD_UNKNOWN_CA:
    case TLS1_AD_ACCESS_DENIED:
    case TLS13_AD_CERTIFICATE_REQUIRED:
      return true;
    default:
      return false;
  }
}

Error error_of(int reason) {
  switch (reason) {
    case SSL_R_WRONG_VERSION_NUMBER:
    case SSL_R_HTTP_REQUEST:
    case SSL_R_HTTPS_PROXY_REQUEST:
      return Error(Code::kUnsupported, "the other side does not speak TLS");
    case SSL_R_UNSUPPORTED_PROTOCOL:
    case SSL_R_TLSV1_ALERT_PROTOCOL_VERSION:
    case SSL_R_NO_PROTOCOLS_AVAILABLE:
    case SSL_R_VERSION_TOO_LOW:
      return Error(Code::kUnsupported, "the two sides have no TLS version in common");
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE:
      return Error(Code::kUnauthorized, "the client showed no certificate");
    default:
      break;
  }
  const char* text = ERR_reason_error_string(ERR_PACK(ERR_LIB_SSL, 0, reason));
  const std::string why = text == nullptr ? fmt::format("TLS failure {}", reason) : text;
  if (reason > SSL_AD_REASON_OFFSET &&
      peer_refuses_our_certificate(reason - SSL_AD_REASON_OFFSET)) {
    return Error(Code::kUnauthorized, "the other side did not accept the certificate: " + why);
  }
  return Error(Code::kTransient, why);
}

}  // namespace

PeerCertificate describe_certificate(const X509* certificate) {
  PeerCertificate peer;
  const X509_NAME* subject = X509_get_subject_name(certificate);
  if (auto names = entries(subject, NID_commonName); !names.empty())
    peer.common_name = names.back();
  peer.organizations = entries(subject, NID_organizationName);
  auto* names = static_cast<GENERAL_NAMES*>(
      X509_get_ext_d2i(certificate, NID_subject_alt_name, nullptr, nullptr));
  for (int i = 0; i < sk_GENERAL_NAME_num(names); ++i) {
    const GENERAL_NAME* name = sk_GENERAL_NAME_value(names, i);
    if (name->type == GEN_DNS) peer.dns_names.push_back(text_of(name->d.dNSName));
    if (name->type == GEN_URI) peer.uris.push_back(text_of(name->d.uniformResourceIdentifier));
    if (name->type == GEN_IPADD) peer.ip_addresses.push_back(ip_text(name->d.iPAddress));
  }
  GENERAL_NAMES_free(names);
  ERR_clear_error();
  return peer;
}

std::string issuer_name(const X509* certificate) {
  const auto names = entries(X509_get_issuer_name(certificate), NID_commonName);
  return names.empty() ? std::string() : names.back();
}

Result<WallTime> wall_time(const ASN1_TIME* time) {
  std::tm parts{};
  if (ASN1_TIME_to_tm(time, &parts) != 1) {
    ERR_clear_error();
    return fail(Code::kInvalid, "certificate: its validity is not a time");
  }
  const std::chrono::sys_seconds moment(seconds(::timegm(&parts)));
  if (moment >= std::chrono::floor<seconds>(WallTime::max())) return WallTime::max();
  if (moment <= std::chrono::ceil<seconds>(WallTime::min())) return WallTime::min();
  return WallTime(moment);
}

int check_certificate(int acceptable, X509_STORE_CTX* store) {
  if (acceptable == 1) return 1;
  const auto* ssl = static_cast<const SSL*>(
      X509_STORE_CTX_get_ex_data(store, SSL_get_ex_data_X509_STORE_CTX_idx()));
  auto& verdict = *static_cast<TlsVerdict*>(SSL_get_app_data(ssl));
  // Let in, but SSL_get_verify_result() remembers and the peer counts as unverified.
  if (verdict.client_auth == ClientAuth::kRequest) return 1;
  const X509* certificate = X509_STORE_CTX_get_current_cert(store);
  if (certificate != nullptr) {
    verdict.refusal =
        why_refused(X509_STORE_CTX_get_error(store), certificate, verdict.server_name);
  }
  return 0;
}

std::optional<PeerCertificate> describe_peer(SSL* ssl, bool verified) {
  const X509* certificate = SSL_get0_peer_certificate(ssl);
  if (certificate == nullptr) return std::nullopt;
  PeerCertificate peer = describe_certificate(certificate);
  peer.verified = verified && SSL_get_verify_result(ssl) == X509_V_OK;
  return peer;
}

Error tls_error(const TlsVerdict& verdict) {
  const unsigned long first = ERR_peek_error();
  const int reason = ERR_GET_REASON(first);
  const bool from_ssl = ERR_GET_LIB(first) == ERR_LIB_SSL;
  const std::string text = openssl_reason();
  // We do not trust them: trying again changes nothing until somebody changes a certificate.
  if (!verdict.refusal.empty()) return Error(Code::kInvalid, verdict.refusal);
  return from_ssl ? error_of(reason) : Error(Code::kTransient, text);
}

std::string openssl_reason() {
  const unsigned long last = ERR_peek_last_error();
  ERR_clear_error();
  const char* text = ERR_reason_error_string(last);
  return text == nullptr ? "no reason given" : text;
}

}  // namespace mainspring::net
