// control/finalizer.h
//
// Finalizers: a mark on an object that keeps it from going away until its controller has cleaned up
// behind it. Runs on the control loop, inside a reconcile.
//
//   co_return co_await with_finalizer(&client, NodeSet::kResource, nodeset->meta,
//                                     "slinky.slurm.net/nodeset", ensure, cleanup);
//
// Others have finalizers on the same object. A write is a JSON patch that tests what it builds
// upon, so a change by somebody else is never lost; it is read, and the patch is made again.
#pragma once

#include <functional>
#include <optional>
#include <string>

#include "control/controller.h"
#include "kube/api.h"

namespace mainspring::control {

using net::Task;

// The object's metadata afterwards. kConflict if it is being deleted, since nothing may be added
// then, or gone. `client` must outlive the task, here and below.
Task<Result<kube::Meta>> add_finalizer(kube::Client* client, kube::Resource resource,
                                       kube::Meta meta, std::string finalizer);

// Success if it was not there, or the object is gone.
Task<Result<void>> remove_finalizer(kube::Client* client, kube::Resource resource, kube::Meta meta,
                                    std::string finalizer);

// Runs while the object is wanted; the finalizer is in place by then.
using Ensure = std::function<Task<Result<Requeue>>()>;
// Runs while the object is being deleted, over and over until it gives nothing: all is clean, and
// the finalizer is taken off. Until then, when to look again. It must bear to run after a success:
// taking the finalizer off may have failed.
using Cleanup = std::function<Task<Result<std::optional<Requeue>>>()>;

// The life of an object that needs cleaning up: never `ensure` without the finalizer, never gone
// without a `cleanup` that ended. An object that is deleted before it had the finalizer needs none.
Task<Result<Requeue>> with_finalizer(kube::Client* client, kube::Resource resource, kube::Meta meta,
                                     std::string finalizer, Ensure ensure, Cleanup cleanup);

}  // namespace mainspring::control
