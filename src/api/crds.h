// api/crds.h
//
// The CustomResourceDefinitions of our kinds, generated from the same tables that tests compare
// with the public contract. `mainspring crds` prints them; charts/mainspring-crds holds a copy.
// Pure.
#pragma once

#include <string>
#include <vector>

#include "json/value.h"

namespace mainspring::api {

std::vector<json::Value> crds();

// One of them as a document: indented JSON, which is YAML, with nothing that Helm takes for a
// template.
std::string crd_text(const json::Value& crd);

}  // namespace mainspring::api
