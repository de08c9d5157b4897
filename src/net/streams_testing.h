// net/streams_testing.h
//
// The small coroutines that tests of streams keep needing. Library mainspring_net_testing.
#pragma once

#include <cstddef>
#include <string>

#include "net/stream.h"
#include "net/task_group.h"

namespace mainspring::net {

// Everything until the end of the stream. `stream` must outlive the task, here and below.
Task<Result<std::string>> read_to_end(Stream* stream);
Task<Result<std::string>> read_exactly(Stream* stream, std::size_t size);
Task<Result<void>> write_all_and_finish(Stream* stream, std::string bytes);
// Sends back what comes until the peer finishes, then finishes too.
Task<Result<void>> echo(Stream* stream);
// Accepts for ever and echoes on each stream in `group`; ends when the listener closes.
Task<Result<void>> echo_server(Listener* listener, TaskGroup* group);

Task<Result<void>> join_all(TaskGroup* group);

// Bytes that differ everywhere, so that a lost or repeated piece shows.
std::string pattern(std::size_t size);

}  // namespace mainspring::net
