// base/object_key.h
//
// How a thing is called within its kind: a namespace, empty where its kind has none, and a name. A
// Kubernetes object, a Slurm node and a Slurm job all have one, so stores and queues need to know
// no more. ObjectKey owns its text; KeyView points into the object it came from.
#pragma once

#include <compare>
#include <cstddef>
#include <functional>
#include <string>
#include <string_view>

namespace mainspring {

struct KeyView {
  std::string_view ns;
  std::string_view name;
  bool operator==(const KeyView&) const = default;
  auto operator<=>(const KeyView&) const = default;
};

struct ObjectKey {
  std::string ns;
  std::string name;

  ObjectKey() = default;
  ObjectKey(std::string_view key_ns, std::string_view key_name) : ns(key_ns), name(key_name) {}
  explicit ObjectKey(KeyView key) : ns(key.ns), name(key.name) {}

  KeyView view() const { return {ns, name}; }
  // "namespace/name", or the name alone.
  std::string to_string() const { return ns.empty() ? name : ns + "/" + name; }

  bool operator==(const ObjectKey&) const = default;
  auto operator<=>(const ObjectKey&) const = default;
};

// For hash tables that are searched with either.
struct KeyHash {
  using is_transparent = void;
  std::size_t operator()(KeyView key) const {
    const std::size_t hash = std::hash<std::string_view>()(key.name);
    return hash ^ (std::hash<std::string_view>()(key.ns) + 0x9E3779B97F4A7C15U + (hash << 6U) +
                   (hash >> 2U));
  }
  std::size_t operator()(const ObjectKey& key) const { return (*this)(key.view()); }
};

struct KeyEqual {
  using is_transparent = void;
  static KeyView view(KeyView key) { return key; }
  static KeyView view(const ObjectKey& key) { return key.view(); }
  template <class A, class B>
  bool operator()(const A& a, const B& b) const {
    return view(a) == view(b);
  }
};

}  // namespace mainspring
