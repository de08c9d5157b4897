// kube/container.h
//
// The containers of a pod: what they ask for, and how they are doing. Parts of kube/pod.h.
#pragma once

#include <cstdint>
#include <optional>

#include "kube/projection.h"

namespace mainspring::kube {

struct Amounts {
  Quantities requests;
  Quantities limits;

  bool operator==(const Amounts&) const = default;
};

constexpr auto json_fields(json::Tag<Amounts>) {
  return json::fields(json::field("requests", &Amounts::requests),
                      json::field("limits", &Amounts::limits));
}

enum class Protocol : std::uint8_t { kTcp, kUdp, kSctp };
bool read(json::Reader& reader, Protocol& out);

struct ContainerPort {
  Text name;
  Text host_ip;
  std::int32_t port = 0;
  std::int32_t host_port = 0;  // 0: none.
  Protocol protocol = Protocol::kTcp;

  bool operator==(const ContainerPort&) const = default;
};

constexpr auto json_fields(json::Tag<ContainerPort>) {
  return json::fields(json::field("name", &ContainerPort::name),
                      json::field("hostIP", &ContainerPort::host_ip),
                      json::field("containerPort", &ContainerPort::port),
                      json::field("hostPort", &ContainerPort::host_port),
                      json::field("protocol", &ContainerPort::protocol));
}

// An entry of the pod's resourceClaims that this container uses, and which request of it.
struct ContainerClaim {
  Text name;
  Text request;

  bool operator==(const ContainerClaim&) const = default;
};

constexpr auto json_fields(json::Tag<ContainerClaim>) {
  return json::fields(json::field("name", &ContainerClaim::name),
                      json::field("request", &ContainerClaim::request));
}

struct Container {
  Text name;
  Text image;
  Quantities requests;
  Quantities limits;
  Seq<ContainerPort> ports;
  Rare<Seq<ContainerClaim>> claims;
  bool sidecar = false;  // An init container that keeps running: restartPolicy Always.

  bool operator==(const Container&) const = default;
};

namespace detail {
void read_container_restart(json::Reader& reader, Container& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<Container>) {
  return json::fields(json::field("name", &Container::name),
                      json::field("image", &Container::image),
                      json::group("resources", json::field("requests", &Container::requests),
                                  json::field("limits", &Container::limits),
                                  json::field("claims", &Container::claims)),
                      json::field("ports", &Container::ports),
                      json::field("restartPolicy", &detail::read_container_restart));
}

enum class ContainerState : std::uint8_t { kNone, kWaiting, kRunning, kTerminated };

struct ContainerStatus {
  Text name;
  Text reason;  // Of its present state.
  Text message;
  std::int32_t restarts = 0;
  std::int32_t exit_code = 0;  // Of kTerminated.
  ContainerState state = ContainerState::kNone;
  bool ready = false;
  bool started = false;
  bool has_id = false;               // The runtime has made it at some time.
  std::optional<WallTime> finished;  // Of kTerminated.

  bool operator==(const ContainerStatus&) const = default;
};

namespace detail {
void read_container_state(json::Reader& reader, ContainerStatus& out);
void read_container_id(json::Reader& reader, ContainerStatus& out);
}  // namespace detail

constexpr auto json_fields(json::Tag<ContainerStatus>) {
  return json::fields(json::field("name", &ContainerStatus::name),
                      json::field("restartCount", &ContainerStatus::restarts),
                      json::field("state", &detail::read_container_state),
                      json::field("ready", &ContainerStatus::ready),
                      json::field("started", &ContainerStatus::started),
                      json::field("containerID", &detail::read_container_id));
}

}  // namespace mainspring::kube
