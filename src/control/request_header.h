// control/request_header.h
//
// Who calls an aggregated API: the API server passes requests on and names the user in headers,
// proving by its own certificate that it may. Which certificate and which headers is written in a
// ConfigMap that every cluster has. Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "control/delegated_auth.h"
#include "http/message.h"
#include "json/value.h"

namespace mainspring::control {

struct RequestHeaderConfig {
  std::string client_ca_pem;
  std::vector<std::string> allowed_names;  // Empty: any that the authority vouches for.
  std::vector<std::string> username_headers;
  std::vector<std::string> uid_headers;
  std::vector<std::string> group_headers;
  std::vector<std::string> extra_header_prefixes;

  bool operator==(const RequestHeaderConfig&) const = default;
};

// From ConfigMap kube-system/extension-apiserver-authentication. kInvalid names the key.
Result<RequestHeaderConfig> read_request_header_config(const json::Value& config_map);

// The user that the headers name. Nothing where the caller showed no certificate of the front
// proxy's authority, or named nobody: then the headers are only what somebody says. Certificates
// must have been verified against client_ca_pem and no other authority.
std::optional<UserInfo> front_proxy_user(const RequestHeaderConfig& config,
                                         const http::Request& request);

// What a request wants to do, as kube-apiserver reads paths: /apis/GROUP/VERSION/..., else a path
// that is no resource.
AccessAttributes access_of(const http::Request& request);

}  // namespace mainspring::control
