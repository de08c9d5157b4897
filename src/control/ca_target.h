// control/ca_target.h
//
// Where the API server looks for the authority that vouches for our server: the caBundle of webhook
// configurations, of a CRD's conversion, of an APIService. Says what to patch; webhook_certs.h does
// it. Pure.
#pragma once

#include <optional>
#include <string>

#include "json/value.h"
#include "kube/api.h"

namespace mainspring::control {

struct CaTarget {
  enum class Kind { kValidatingWebhooks, kMutatingWebhooks, kCrdConversion, kApiService };
  Kind kind = Kind::kValidatingWebhooks;
  std::string name;

  kube::Resource resource() const;
  // "ValidatingWebhookConfiguration slurm-operator"
  std::string to_string() const { return resource().kind + " " + name; }
};

// What makes the object trust `bundle` (PEM) wherever it calls us; nothing where it does already.
// Every webhook of a configuration is ours: we are given its name.
std::optional<kube::Patch> ca_patch(CaTarget::Kind kind, const json::Value& object,
                                    const std::string& bundle);

}  // namespace mainspring::control
