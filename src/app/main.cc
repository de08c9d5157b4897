// app/main.cc
//
// The `mainspring` executable: reads the command line and hands over to the chosen subcommand. The
// only room that knows all the others.
#include <fmt/core.h>

#include <CLI/CLI.hpp>

#include "app/bridge_command.h"
#include "app/crds_command.h"
#include "app/operator_command.h"
#include "net/tls.h"

using namespace mainspring;

int main(int argc, char** argv) {
  CLI::App line("Mainspring runs Slurm and Kubernetes as one system.", "mainspring");
  line.set_version_flag("--version,-V",
                        fmt::format("mainspring {} ({})", MAINSPRING_VERSION, net::tls_library()));
  const CLI::App* const crds =
      line.add_subcommand("crds", "Print the CustomResourceDefinitions, for kubectl apply -f -.");
  const auto run_operator = app::add_operator_command(line);
  const auto run_bridge = app::add_bridge_command(line);
  CLI11_PARSE(line, argc, argv);
  if (crds->parsed()) return app::run_crds();
  if (line.got_subcommand("operator")) return run_operator();
  if (line.got_subcommand("bridge")) return run_bridge();
  fmt::print("{}", line.help());
  return 0;
}
