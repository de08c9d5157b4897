// net/memory_stream.h
//
// Two streams joined back to back in memory, for tests and simulations. A write is visible to the
// other end at once; finish() or close() of one end is the end of stream at the other.
#pragma once

#include <memory>
#include <utility>

#include "net/stream.h"

namespace mainspring::net {

std::pair<std::unique_ptr<Stream>, std::unique_ptr<Stream>> make_memory_streams();

}  // namespace mainspring::net
