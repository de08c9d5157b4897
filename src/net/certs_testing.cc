#include "net/certs_testing.h"

#include <cstdio>
#include <cstdlib>
#include <utility>

namespace mainspring::net {
namespace {

CertifiedKey require(Result<CertifiedKey> made) {
  if (made) return *std::move(made);
  std::fprintf(stderr, "%s\n", made.error().to_string().c_str());
  std::abort();
}

}  // namespace

TestCa::TestCa(std::string name) {
  const TestCertOptions defaults;
  pair_ = require(make_ca({std::move(name), {defaults.not_before, defaults.not_after}}));
}

TestCert TestCa::issue(const TestCertOptions& options) const {
  CertificateRequest request;
  request.common_name = options.common_name;
  request.organizations = options.organizations;
  request.dns_names = options.dns_names;
  request.ip_addresses = options.ip_addresses;
  request.validity = {options.not_before, options.not_after};
  request.for_clients = true;
  const CertifiedKey made = require(net::issue(pair_, request));
  return {made.cert_pem, made.key_pem.reveal()};
}

TestCert TestCa::issue_local() const {
  TestCertOptions options;
  options.common_name = "localhost";
  options.dns_names = {"localhost"};
  options.ip_addresses = {"127.0.0.1", "::1"};
  return issue(options);
}

}  // namespace mainspring::net
