// slurm/openapi_testing.h
//
// For tests: the OpenAPI documents that real slurmrestd wrote of themselves, to hold our tables and
// requests against.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "http/gzip.h"
#include "json/value.h"
#include "slurm/versions.h"

namespace mainspring::slurm {

class OpenApi {
 public:
  OpenApi(const std::string& release, Version version) : version_(to_string(version)) {
    const std::string path =
        MAINSPRING_TEST_DATA "/slurm/openapi/" + release + "-" + version_ + ".json.gz";
    std::ifstream file(path, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    const auto text = http::gzip_decompress(bytes, std::size_t{4} << 20);
    EXPECT_TRUE(text) << path;
    auto parsed = json::parse(*text);
    EXPECT_TRUE(parsed) << path;
    root_ = *std::move(parsed);
  }

  // The schema of what stands at `where` ("nodes[]", "slurm_conf") of the answer to a GET; null
  // where there is no such endpoint.
  const json::Value* answer(const std::string& room, const std::string& endpoint,
                            const std::string& where) const {
    const json::Value* get = operation(room, endpoint, "get");
    if (get == nullptr) return nullptr;
    const json::Value& responses = *get->find("responses");
    const json::Value* good = responses.find("200");
    if (good == nullptr) good = responses.find("default");
    const json::Value* schema = good->find("content")->find("application/json")->find("schema");
    return at(schema, where);
  }

  // The schema of what a call may be sent; null where there is no such call.
  const json::Value* request(const std::string& room, const std::string& endpoint,
                             std::string_view method) const {
    const json::Value* call = operation(room, endpoint, method);
    if (call == nullptr) return nullptr;
    return resolve(
        call->find("requestBody")->find("content")->find("application/json")->find("schema"));
  }

  // Follows a path through references, properties and items.
  const json::Value* at(const json::Value* schema, std::string_view path) const {
    schema = resolve(schema);
    while (schema != nullptr && !path.empty()) {
      const std::size_t end = std::min(path.find('.'), path.size());
      std::string_view key = path.substr(0, end);
      path.remove_prefix(std::min(end + 1, path.size()));
      const bool list = key.ends_with("[]");
      if (list) key.remove_suffix(2);
      if (!key.empty()) {
        const json::Value* properties = schema->find("properties");
        schema = properties == nullptr ? nullptr : resolve(properties->find(key));
      }
      if (list && schema != nullptr) schema = resolve(schema->find("items"));
    }
    return schema;
  }

 private:
  const json::Value* operation(const std::string& room, const std::string& endpoint,
                               std::string_view method) const {
    const std::string path = "/" + room + "/" + version_ + "/" + endpoint;
    for (const auto [key, value] : root_.find("paths")->members()) {
      if (key == path || key == path + "/") return value.find(method);
    }
    return nullptr;
  }

  const json::Value* resolve(const json::Value* schema) const {
    while (schema != nullptr && schema->find("$ref") != nullptr) {
      const std::string reference(*schema->find("$ref")->as_string());
      schema = root_.at_pointer(reference.substr(1));
    }
    return schema;
  }

  std::string version_;
  json::Value root_;
};

// The Slurm that wrote each, and the version it is of.
inline const std::map<std::string, std::pair<std::string, Version>>& documents() {
  static const std::map<std::string, std::pair<std::string, Version>> kDocuments = {
      {"24.11 v42", {"24.11.5", Version::k42}},
      {"26.05 v42", {"26.05.5", Version::k42}},
      {"26.05 v43", {"26.05.5", Version::k43}},
      {"26.05 v44", {"26.05.5", Version::k44}},
      {"26.05 v45", {"26.05.5", Version::k45}}};
  return kDocuments;
}

}  // namespace mainspring::slurm
