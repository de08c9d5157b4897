// control/webhook_certs.h
//
// Serving certificates without cert-manager: an authority of our own and the certificate that it
// issues lie in a Secret that all replicas share; the authority is written into the configurations
// through which the API server calls us, and kept there. Every replica runs this, leader or not:
// whoever writes the Secret first wins, the others take over what he wrote.
//
// Lives on the control loop. What it finds goes to ServingTls, which the serving loop reads. Its
// client must be one that may write without being the leader; it needs get, list, watch, create and
// patch on the Secret, and get, list, watch and patch on each target. Whoever has files from
// cert-manager uses net::RotatingTls instead, and none of this.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/log.h"
#include "control/ca_target.h"
#include "control/cert_plan.h"
#include "control/serving_tls.h"
#include "kube/api.h"
#include "net/notify.h"

namespace mainspring::control {

using net::Task;

class WebhookCerts {
 public:
  struct Options {
    std::string ns;
    std::string secret;
    CertPolicy policy;
    std::vector<CaTarget> targets;
    std::shared_ptr<ServingTls> tls;
    Logger log;
    // Changes are watched; this is for what a watch might miss.
    Duration resync = minutes(10);
    // Between two looks, so that a quarrel over a caBundle does not become a load.
    Duration pause = seconds(1);
  };

  // Both must outlive this.
  WebhookCerts(net::Executor& executor, kube::Client& client, Options options);

  // One look: the Secret is as it should be, its certificate is served, all targets that exist hold
  // its authorities. Call it before the server says that it is ready.
  Task<Result<void>> sync();

  // Again and again until cancelled. Failures are logged and tried again.
  Task<Result<void>> run();

 private:
  struct Stored {
    ServingCerts certs;
    std::string resource_version;  // Empty where there is no Secret yet.
  };

  Task<Result<Stored>> read_secret();
  Task<Result<void>> write_secret(const Stored* before, const ServingCerts* certs);
  Task<Result<bool>> sync_once();
  Task<Result<void>> publish(std::string bundle);
  Task<Result<void>> publish_to(const CaTarget* target, const std::string* bundle);
  Task<Result<void>> wait_for_change(Duration limit);
  Task<Result<void>> watch(kube::Resource resource, std::string ns, std::string name);

  net::Executor& executor_;
  kube::Client& client_;
  Options options_;
  kube::RawApi secrets_;
  WallTime look_again_;
  bool changed_ = false;
  net::Notify change_;
};

}  // namespace mainspring::control
