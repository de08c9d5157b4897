// bridge/gang/gang_testing.h
//
// Pods for tests, in YAML as people write them.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string_view>

#include "bridge/gang/gang.h"
#include "json/yaml.h"

namespace mainspring::bridge {

inline PodPtr pod_from(std::string_view yaml) {
  const auto value = json::parse_yaml(yaml);
  EXPECT_TRUE(value) << yaml;
  json::Reader reader;
  auto pod = json::decode<kube::Pod>(reader, json::to_text(*value));
  EXPECT_TRUE(pod) << pod.error().to_string();
  return std::make_shared<const kube::Pod>(*std::move(pod));
}

}  // namespace mainspring::bridge
