// net/certificate.h
//
// Making and looking at certificates: authorities of our own, certificates that they issue, and
// what is in a PEM text that somebody gave us. Keys are ECDSA P-256. Pure but for the keys and
// serial numbers, which come from OpenSSL's random source: a secret must not follow from a seed.
//
// Whether a peer is to be trusted is not decided here: that is the handshake's (net/tls.h).
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "base/secret.h"
#include "base/time.h"

namespace mainspring::net {

// Both in PEM.
struct CertifiedKey {
  std::string cert_pem;
  Secret key_pem;

  bool operator==(const CertifiedKey&) const = default;
};

// Both ends are part of it. Certificates know whole seconds, so a fraction is cut off.
struct Validity {
  WallTime from;
  WallTime until;

  bool contains(WallTime time) const { return from <= time && time <= until; }
  bool operator==(const Validity&) const = default;
};

struct CaRequest {
  std::string common_name;
  Validity validity;
};

struct CertificateRequest {
  std::string common_name;
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  Validity validity;
  bool for_servers = true;
  bool for_clients = false;
};

// A new key and a certificate that it signed itself.
Result<CertifiedKey> make_ca(const CaRequest& request);

// A new key and a certificate that `ca` signed. kInvalid names what of the request cannot be used.
Result<CertifiedKey> issue(const CertifiedKey& ca, const CertificateRequest& request);

struct CertificateInfo {
  std::string pem;  // This one alone, as we write it.
  std::string common_name;
  std::string issuer;  // The common name of who signed it.
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  std::vector<std::string> uris;
  Validity validity;
  bool is_ca = false;

  bool operator==(const CertificateInfo&) const = default;
};

// The first certificate of the text. Nothing of it is verified.
Result<CertificateInfo> inspect(const std::string& pem);
// All of them; at least one.
Result<std::vector<CertificateInfo>> inspect_all(const std::string& pem);

// The key belongs to the first certificate. False also where one of them cannot be read.
bool key_fits(const CertifiedKey& pair);
// `ca_pem`'s first certificate signed `cert_pem`'s first. Says nothing about times.
bool is_issued_by(const std::string& cert_pem, const std::string& ca_pem);

}  // namespace mainspring::net
