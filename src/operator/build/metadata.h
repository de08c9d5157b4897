// operator/build/metadata.h
//
// Which labels and annotations go onto what, and the hashes among them. Pure.
#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

#include "api/common.h"
#include "json/value.h"
#include "kube/core_objects.h"

namespace mainspring::op::build {

using Labels = std::map<std::string, std::string>;

struct Metadata {
  Labels labels;
  Labels annotations;
};

// Later ones win. Of an object's own annotations kubectl's last-applied is never handed on.
void add(Labels& to, const json::StringMap& from);
json::Value to_json(const Labels& labels);

// The metadata of an object of ours: name, namespace, labels, annotations where there are any, and
// the controlling owner.
json::Value object_meta(std::string_view name, std::string_view ns, const Metadata& metadata,
                        const kube::Resource& owner_resource, const kube::Meta& owner);

// Lowercase hex SHA-256 of the values one after the other in the order of their keys; "" for no
// values or only empty ones.
std::string hash_of(const std::map<std::string, std::string>& values);
std::string hash_of(const kube::ConfigMap& config);
std::string hash_of(const kube::SecretObject& secret);

}  // namespace mainspring::op::build
