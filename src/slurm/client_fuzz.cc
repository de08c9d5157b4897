// Whatever a server answers to a list, in pieces of any size, the call ends, and what was handed
// out is JSON or the call says that it is not to be used.
#include "slurm/client.h"

#include "net/virtual_executor.h"
#include "slurm/scripted_transport.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace mainspring;
  using namespace mainspring::slurm;
  if (size < 2) return 0;
  net::VirtualExecutor executor;
  Random random(1);
  Governor governor(executor, random, {});
  ScriptedTransport transport;
  constexpr int kStatuses[] = {200, 200, 200, 304, 404, 422, 502, 511};
  transport.piece_size = data[0] + std::size_t{1};
  const std::string body(reinterpret_cast<const char*>(data + 2), size - 2);
  transport.add(kStatuses[data[1] % std::size(kStatuses)], body);
  transport.answers.back().cut = data[1] >= 128;

  Client::Options options;
  options.server.host = "127.0.0.1";
  options.version = Version::k45;
  Client client(transport, executor, random, governor, options);
  const auto answer = executor.run(client.stream({.endpoint = Endpoint::kListJobs}, "jobs",
                                                 [](std::string_view element) -> Result<void> {
                                                   if (element.empty()) std::abort();
                                                   return {};
                                                 }));
  if (!answer && answer.error().to_string().empty()) std::abort();
  if (governor.under_way() != 0) std::abort();
  return 0;
}
