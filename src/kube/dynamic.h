// kube/dynamic.h
//
// An object of any kind, for what has no projection: its metadata, and every other top-level member
// as the text that stood in the document. Used as Api<Dynamic>(client, resource, ns) and in stores.
#pragma once

#include <string>
#include <string_view>

#include "json/value.h"
#include "kube/meta.h"

namespace mainspring::kube {

struct Dynamic {
  Meta meta;
  // "spec", "status", "data", "kind", ...: JSON text, compared byte by byte.
  json::StringMap members;

  // The value of a member, null where there is none.
  Result<json::Value> member(std::string_view name) const;

  bool operator==(const Dynamic&) const = default;
};

bool read(json::Reader& reader, Dynamic& out);

}  // namespace mainspring::kube
