// control/serving_tls.h
//
// The certificate that our servers show, replaced while they run. Written by the control loop
// (control/webhook_certs.h, control/aggregated_api.h), read by the listener on the serving loop:
// the one object here that both may touch. Connections that exist keep what they began with.
//
// Until the first set_certificate() it shows one that nobody trusts, so that a server can listen
// before the API server has been asked for the real one.
#pragma once

#include <memory>
#include <mutex>
#include <string>

#include "base/clock.h"
#include "net/certificate.h"
#include "net/tls.h"

namespace mainspring::control {

class ServingTls final : public net::TlsSource {
 public:
  static Result<std::shared_ptr<ServingTls>> make(const Clock& clock);

  // Both change nothing where they fail.
  Result<void> set_certificate(net::CertifiedKey certificate);
  // Clients are asked for a certificate and are `verified` if one of these authorities vouches for
  // it. Empty: they are not asked.
  Result<void> set_client_ca(std::string pem);

  // Any thread.
  std::shared_ptr<const net::TlsContext> current() override;

 private:
  explicit ServingTls(net::CertifiedKey first) : certificate_(std::move(first)) {}
  Result<void> use(net::CertifiedKey certificate, std::string client_ca);

  std::mutex mutex_;
  net::CertifiedKey certificate_;
  std::string client_ca_;
  std::shared_ptr<const net::TlsContext> context_;
};

}  // namespace mainspring::control
