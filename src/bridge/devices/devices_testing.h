// bridge/devices/devices_testing.h
//
// For tests of devices: pods and ResourceSlices from YAML.
#pragma once

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "json/yaml.h"
#include "kube/devices.h"
#include "kube/pod.h"

namespace mainspring::bridge {

template <class T>
std::shared_ptr<const T> from_yaml(std::string_view yaml) {
  const auto value = json::parse_yaml(yaml);
  EXPECT_TRUE(value.has_value()) << yaml;
  json::Reader reader;
  auto object = json::decode<T>(reader, to_text(*value));
  EXPECT_TRUE(object.has_value()) << yaml;
  return std::make_shared<const T>(*std::move(object));
}

using SliceList = std::vector<std::shared_ptr<const kube::ResourceSlice>>;

// `devices` as a list in YAML's short form; of pool n1, which has `slices` slices.
inline std::shared_ptr<const kube::ResourceSlice> slice_of(std::string_view driver,
                                                           std::string_view devices,
                                                           int generation = 1, int slices = 1) {
  return from_yaml<kube::ResourceSlice>(
      "metadata: {name: s}\nspec: {driver: " + std::string(driver) +
      ", nodeName: n1, pool: {name: n1, generation: " + std::to_string(generation) +
      ", resourceSliceCount: " + std::to_string(slices) + "}, devices: " + std::string(devices) +
      "}\n");
}

// Two GPUs of gpu.example.com.
inline std::shared_ptr<const kube::ResourceSlice> two_gpus() {
  return slice_of("gpu.example.com",
                  "[{name: gpu-1, attributes: {index: {int: 1}}},"
                  " {name: gpu-0, attributes: {index: {int: 0}}}]");
}

// Cores 0 and 1 of two threads each: CPUs 0 and 2, 1 and 3.
inline std::shared_ptr<const kube::ResourceSlice> two_cores() {
  std::string devices;
  for (int cpu = 0; cpu < 4; ++cpu) {
    devices += (cpu == 0 ? "[" : ", ") + ("{name: cpu" + std::to_string(cpu)) +
               ", attributes: {dra.cpu/cpuID: {int: " + std::to_string(cpu) +
               "}, dra.cpu/coreID: {int: " + std::to_string(cpu % 2) +
               "}, dra.cpu/socketID: {int: 0}}}";
  }
  return slice_of("dra.cpu", devices + "]");
}

// With one container that has these limits, as the API server completes it.
inline std::shared_ptr<const kube::Pod> pod_with(std::string_view limits) {
  return from_yaml<kube::Pod>(
      "metadata: {name: p, namespace: ns, uid: u1}\nspec:\n  containers:\n" +
      ("  - {name: main, resources: {limits: " + std::string(limits)) +
      ", requests: " + std::string(limits) + "}}\n");
}

}  // namespace mainspring::bridge
