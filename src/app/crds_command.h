// app/crds_command.h
//
// `mainspring crds`: prints the CustomResourceDefinitions. Needs no cluster.
#pragma once

namespace mainspring::app {

// What the process exits with.
int run_crds();

}  // namespace mainspring::app
