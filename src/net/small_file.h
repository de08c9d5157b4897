// net/small_file.h
//
// Reading the small local files that say who we are: kubeconfig, tokens, keys. Blocks for as
// long as the disk does.
#pragma once

#include <cstddef>
#include <string>

#include "base/result.h"

namespace mainspring::net {

// kNotFound where there is no such file; kTooLarge beyond `max_bytes`.
Result<std::string> read_small_file(const std::string& path,
                                    std::size_t max_bytes = std::size_t{4} << 20);

}  // namespace mainspring::net
