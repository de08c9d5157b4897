// net/certs_testing.h
//
// Certificates made on the spot, for the tests of this room and of those above it. Library
// mainspring_net_testing; never part of the product.
#pragma once

#include <string>
#include <vector>

#include "net/certificate.h"

namespace mainspring::net {

struct TestCert {
  std::string cert_pem;
  std::string key_pem;
};

struct TestCertOptions {
  std::string common_name = "test";
  std::vector<std::string> organizations;
  std::vector<std::string> dns_names;
  std::vector<std::string> ip_addresses;
  // Wide enough for the machine's clock and for the one of VirtualExecutor.
  WallTime not_before = WallTime(seconds(1'500'000'000));
  WallTime not_after = WallTime(seconds(4'000'000'000));
};

// A certificate authority with its own key. Aborts on failure: there is nothing to test then.
class TestCa {
 public:
  explicit TestCa(std::string name = "test authority");

  const std::string& cert_pem() const { return pair_.cert_pem; }
  const CertifiedKey& pair() const { return pair_; }
  TestCert issue(const TestCertOptions& options) const;
  // For a server on this machine: "localhost", 127.0.0.1 and ::1.
  TestCert issue_local() const;

 private:
  CertifiedKey pair_;
};

}  // namespace mainspring::net
