// kube/exec_credentials.h
//
// Credentials from a program: client-go's exec plugins, as cloud providers and identity systems
// ship them (client.authentication.k8s.io/v1 and v1beta1). The program runs when the first request
// needs it, once for all who wait, and again shortly before what it gave expires or when the server
// refuses it. Lives on one loop; the program runs beside it (net/run_process.h).
//
// Nothing that the program prints to standard output reaches a message: it is a secret.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/clock.h"
#include "base/secret.h"
#include "kube/config.h"
#include "kube/credentials.h"
#include "net/notify.h"

namespace mainspring::kube {

// What a plugin says. A token, a certificate with its key, or both.
struct ExecCredential {
  Secret token;
  std::string cert_pem;
  Secret key_pem;
  std::optional<WallTime> expires;

  bool operator==(const ExecCredential&) const = default;
};

// `api_version` is what the plugin was asked to speak.
Result<ExecCredential> parse_exec_credential(std::string_view text, std::string_view api_version);

class ExecCredentials final : public Credentials {
 public:
  struct Options {
    ExecPlugin plugin;
    // For plugins that ask for it: spec.cluster of what they are told. Else null.
    json::Value cluster;
    std::vector<std::string> environment;  // Ours, "NAME=value", PATH included.
    const Clock* clock = nullptr;          // Must outlive this.
    Duration timeout = seconds(60);
    // Called when the certificate is another than before, also the first time, and before any
    // request goes out with it. What it cannot use is the plugin's failure.
    std::function<Result<void>(const std::string& cert_pem, const Secret& key_pem)> on_certificate;
  };
  explicit ExecCredentials(Options options) : options_(std::move(options)) {}

  net::Task<Result<void>> add_to(http::Headers* headers) override;
  bool refresh() override;

 private:
  class Running;

  bool usable() const;
  net::Task<Result<void>> run_plugin();
  net::Task<Result<ExecCredential>> ask_plugin();
  std::vector<std::string> plugin_environment() const;
  Result<void> accept(ExecCredential credential);
  std::string name() const;

  Options options_;
  std::optional<ExecCredential> credential_;
  TimePoint obtained_;
  std::optional<TimePoint> renew_at_;
  // The run under way, and how those before it ended.
  bool running_ = false;
  std::uint64_t runs_ended_ = 0;
  std::optional<Error> last_error_;
  net::Notify ended_;
};

}  // namespace mainspring::kube
