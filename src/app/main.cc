// app/main.cc
//
// The `mainspring` executable: reads the command line and hands over to the chosen subcommand. The
// only room that knows all the others.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "net/tls.h"

using namespace mainspring;

int main(int argc, char** argv) {
  CLI::App app("Mainspring runs Slurm and Kubernetes as one system.", "mainspring");
  app.set_version_flag("--version,-V",
                       fmt::format("mainspring {} ({})", MAINSPRING_VERSION, net::tls_library()));
  CLI11_PARSE(app, argc, argv);
  fmt::print("{}", app.help());
  return 0;
}
