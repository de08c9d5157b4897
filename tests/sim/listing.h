// tests/sim/listing.h
//
// Lists: selection, paging by continue tokens, and what resourceVersion means for them. Pure but
// for reading the storage.
#pragma once

#include <string>

#include "base/result.h"
#include "http/url.h"
#include "json/value.h"
#include "sim/kinds.h"
#include "sim/storage.h"

namespace mainspring::sim {

// A resource version as a request carries it; 0 where it is empty.
Result<std::uint64_t> parse_version(const std::string& text);
// The 422 that list and watch requests share, where their options contradict each other.
Result<void> check_list_options(const http::Url& url, bool watch);

// The object in the version of the kind that was asked for.
json::Value render(const Kind& kind, const json::Value& object);

// The list as the answer's body. `ns` empty: all namespaces.
Result<json::Value> list_objects(const Storage& storage, const Kind& kind, const std::string& ns,
                                 const http::Url& url);

}  // namespace mainspring::sim
