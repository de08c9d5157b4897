#include "api/additions.h"

namespace mainspring::api {
namespace {

constexpr Addition kAdditions[] = {
    {"Accounting", ".status.observedGeneration"},
    {"Cluster", ""},
    {"Controller", ".status.config"},
    {"Controller", ".status.config.appliedAt"},
    {"Controller", ".status.config.hash"},
    {"Controller", ".status.config.message"},
    {"Controller", ".status.config.method"},
    {"Controller", ".status.config.state"},
    {"Controller", ".status.observedGeneration"},
    {"LoginSet", ".status.observedGeneration"},
    {"NodeSet", ".spec.deletion"},
    {"NodeSet", ".spec.deletion.deadline"},
    {"NodeSet", ".spec.deletion.policy"},
    {"RestApi", ".status.observedGeneration"},
    {"Token", ".status.observedGeneration"},
};

}  // namespace

std::span<const Addition> additions() { return kAdditions; }

}  // namespace mainspring::api
