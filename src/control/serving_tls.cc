#include "control/serving_tls.h"

#include <utility>

namespace mainspring::control {

Result<std::shared_ptr<ServingTls>> ServingTls::make(const Clock& clock) {
  const WallTime now = clock.wall_now();
  MS_TRY(net::CertifiedKey first,
         net::make_ca({"not ready yet", {now - hours(1), now + hours(24)}}));
  std::shared_ptr<ServingTls> made(new ServingTls(first));
  MS_CHECK(made->use(std::move(first), ""));
  return made;
}

Result<void> ServingTls::use(net::CertifiedKey certificate, std::string client_ca) {
  net::TlsServerOptions options;
  options.cert_pem = certificate.cert_pem;
  options.key_pem = certificate.key_pem.reveal();
  options.client_ca_pem = client_ca;
  // Not required: the same port serves webhooks, and callers with tokens.
  options.client_auth = client_ca.empty() ? net::ClientAuth::kNone : net::ClientAuth::kRequest;
  MS_TRY(auto context, net::TlsContext::server(options));
  context_ = std::move(context);
  certificate_ = std::move(certificate);
  client_ca_ = std::move(client_ca);
  return {};
}

Result<void> ServingTls::set_certificate(net::CertifiedKey certificate) {
  const std::lock_guard lock(mutex_);
  if (certificate == certificate_) return {};
  return use(std::move(certificate), client_ca_);
}

Result<void> ServingTls::set_client_ca(std::string pem) {
  const std::lock_guard lock(mutex_);
  if (pem == client_ca_) return {};
  return use(certificate_, std::move(pem));
}

std::shared_ptr<const net::TlsContext> ServingTls::current() {
  const std::lock_guard lock(mutex_);
  return context_;
}

}  // namespace mainspring::control
