// api/schema_rows_testing.h
//
// A definition as rows, one for each field: the form of tests/data/contract/crd-fields.tsv. For
// tests.
#pragma once

#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "json/value.h"

namespace mainspring::api {

struct SchemaRow {
  std::string kind;
  std::string version;
  std::string path;  // ".spec.refs[].name", ".spec.labels{}"
  std::string type;
  bool required = false;
  std::set<std::string> rules;  // "default=1", "cel=has(self.a)"

  bool operator==(const SchemaRow&) const = default;
};

std::vector<SchemaRow> rows_of(const json::Value& crd);
std::vector<SchemaRow> parse_rows(std::string_view table);
std::string to_string(const SchemaRow& row);

}  // namespace mainspring::api
