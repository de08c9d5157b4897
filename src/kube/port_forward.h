// kube/port_forward.h
//
// A connection to a port inside a pod, by way of the API server and the kubelet: an ordinary
// stream, for the CLI and for reaching a daemon that no Service shows. Owned by whoever uses it, on
// the client's loop.
//
// Each connection is a websocket of its own in the protocol v4.channel.k8s.io, which every kubelet
// since 1.6 speaks without SPDY. That protocol has no word for "nothing more will be written":
// finish() succeeds and the pod does not hear of it until close(). Protocols that mark their own
// ends (HTTP, TLS, Slurm's) do not notice.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "kube/client.h"
#include "net/stream.h"

namespace mainspring::kube {

// Returns when the kubelet has agreed. That nobody listens on the port shows only then, as a
// failure of the first read: kTransient, with the kubelet's words. `client` must outlive the task
// and the stream.
Task<Result<std::unique_ptr<net::Stream>>> port_forward(Client* client, std::string ns,
                                                        std::string pod, std::uint16_t port);

}  // namespace mainspring::kube
