#include "app/slurm_server.h"

#include <CLI/CLI.hpp>
#include <cstdlib>
#include <optional>
#include <string_view>
#include <utility>

#include "slurm/rest_transport.h"

namespace mainspring::app {
namespace {

std::optional<std::string> variable(std::string_view name) {
  const char* const value = std::getenv(std::string(name).c_str());
  if (value == nullptr) return std::nullopt;
  return value;
}

}  // namespace

void add_slurm_server_flags(CLI::App& command, SlurmServerFlags& flags) {
  command
      .add_option("--slurm-ca-file", flags.ca_file,
                  "For a slurmrestd behind https: a file of those who may vouch for it; may be "
                  "rotated. Without: those whom the machine trusts")
      ->envname("SLURM_CA_FILE");
}

Result<std::unique_ptr<http::Client>> slurm_transport(const SlurmServerFlags& flags,
                                                      control::Process& process) {
  auto made = slurm::rest_transport({.executor = process.manager().executor(),
                                     .network = process.network(),
                                     .ca_file = flags.ca_file,
                                     .env = variable,
                                     .log = process.log(),
                                     .metrics = &process.metrics()});
  return with_context(std::move(made), "the way to slurmrestd");
}

}  // namespace mainspring::app
