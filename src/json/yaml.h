// json/yaml.h
//
// YAML as Kubernetes tools read it, made into Values: kubeconfig files, manifests, Helm values. For
// small files that people write; it is not fast.
//
// Scalars follow sigs.k8s.io/yaml, so that a file means the same here and to kubectl: `yes`, `no`,
// `on`, `off`, `y` and `n` are booleans, 0644 is octal, 1_000 is a thousand, dates are strings, and
// keys that are numbers or booleans become strings. Unlike it, a key that comes twice is an error,
// and members written out win over merged ones (`<<`) wherever they stand.
//
// Hostile text is refused: size, depth, and what aliases may expand to are bounded. Errors name the
// line and the column, counted from 1, and repeat no scalar of the document, which may be a secret.
// Pure functions.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "json/value.h"

namespace mainspring::json {

struct YamlOptions {
  std::size_t max_bytes = std::size_t{16} << 20;
  std::size_t max_depth = 128;
  // What anchors and aliases may copy, counted in values and bytes of text.
  std::size_t max_copied = std::size_t{4} << 20;
};

// One document; null for an empty text. kInvalid if there is a second one.
Result<Value> parse_yaml(std::string_view text, YamlOptions options = {});

// All documents of a stream, those without any content left out.
Result<std::vector<Value>> parse_yaml_documents(std::string_view text, YamlOptions options = {});

}  // namespace mainspring::json
