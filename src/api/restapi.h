// api/restapi.h
//
// RestApi: slurmrestd. A value.
#pragma once

#include "api/simple_status.h"

namespace mainspring::api {

struct RestApiSpec {
  NameRef controller_ref;
  std::int32_t replicas = 1;
  json::Value slurmrestd;
  PodTemplate pod_template;
  ServiceTemplate service;

  bool operator==(const RestApiSpec&) const = default;
};

constexpr auto json_fields(json::Tag<RestApiSpec>) {
  using T = RestApiSpec;
  return json::fields(
      json::field("controllerRef", &T::controller_ref), json::field("replicas", &T::replicas),
      json::field("slurmrestd", &T::slurmrestd), json::field("template", &T::pod_template),
      json::field("service", &T::service));
}

struct RestApi {
  inline static const kube::Resource kResource{"slinky.slurm.net", "v1beta1", "restapis", "RestApi",
                                               true};
  kube::Meta meta;
  RestApiSpec spec;
  SimpleStatus status;

  bool operator==(const RestApi&) const = default;
};

constexpr auto json_fields(json::Tag<RestApi>) {
  return json::fields(json::field("metadata", &RestApi::meta), json::field("spec", &RestApi::spec),
                      json::field("status", &RestApi::status));
}

}  // namespace mainspring::api
