// Structs and schemas are written apart; these tests keep them together, in both directions.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <functional>
#include <set>
#include <string>
#include <type_traits>

#include "api/accounting.h"
#include "api/cluster.h"
#include "api/controller.h"
#include "api/crds.h"
#include "api/loginset.h"
#include "api/nodeset.h"
#include "api/restapi.h"
#include "api/schema_rows_testing.h"
#include "api/token.h"

namespace mainspring::api {
namespace {

using json::Value;

Value crd_of(std::string_view kind) {
  for (Value& crd : crds()) {
    if (*crd.at_pointer("/spec/names/kind") == Value(kind)) return crd;
  }
  ADD_FAILURE() << "no definition of " << kind;
  return {};
}

// A value of the schema. `take` is asked at every leaf whether it gets the second of two values;
// both differ from every default and are good Go durations.
using Take = std::function<bool(const std::string& path)>;

Value sample(const Value& schema, const std::string& path, const Take& take) {
  if (const Value* const properties = schema.find("properties")) {
    Value out = Value::object();
    for (const auto& [name, property] : properties->members()) {
      out.set(name, sample(property, fmt::format("{}.{}", path, name), take));
    }
    return out;
  }
  if (const Value* const items = schema.find("items")) {
    return Value::array({sample(*items, path + "[]", take)});
  }
  if (const Value* const values = schema.find("additionalProperties")) {
    return Value::object({{"a", sample(*values, path + "{}", take)}});
  }
  const bool second = take(path);
  const std::string_view text = second ? "12m" : "11m";
  if (const Value* const words = schema.find("enum")) return words->at(second ? 1 : 0);
  if (schema.find("x-kubernetes-int-or-string") != nullptr) return second ? "12%" : "11%";
  const Value* const type = schema.find("type");
  if (type == nullptr) return Value::array({Value::object({{"a", text}})});
  if (*type == Value("object")) return Value::object({{"a", text}});
  if (*type == Value("boolean")) return second;
  if (*type == Value("integer")) return second ? 12 : 11;
  const Value* const format = schema.find("format");
  if (format != nullptr && *format == Value("date-time")) {
    return second ? "2026-11-12T00:00:00Z" : "2026-11-11T00:00:00Z";
  }
  return text;
}

template <class Kind>
Kind decode_sample(const Value& root, const Take& take) {
  Value object = Value::object();
  for (const std::string_view part : {"spec", "status"}) {
    object.set(part, sample(*root.find("properties")->find(part), fmt::format(".{}", part), take));
  }
  json::Reader reader;
  auto decoded = json::decode<Kind>(reader, json::to_text(object));
  EXPECT_TRUE(decoded) << decoded.error().message();
  return decoded ? *decoded : Kind{};
}

// Every path that a struct's tables read, in the form of SchemaRow::path.
void add_paths(const auto& table, const std::string& path, std::set<std::string>& out);

template <class T>
void add_type(const std::string& path, std::set<std::string>& out) {
  out.insert(path);
  if constexpr (json::Projected<T>) {
    add_paths(json_fields(json::Tag<T>{}), path, out);
  } else if constexpr (requires { typename T::value_type; } && !std::is_same_v<T, std::string> &&
                       !std::is_same_v<T, json::StringMap>) {
    using Element = typename T::value_type;
    constexpr bool kOptional = requires(T t) { t.has_value(); };
    add_type<Element>(kOptional ? path : path + "[]", out);
  }
}

template <class Table, std::size_t... I>
void add_entries(const Table& table, const std::string& path, std::set<std::string>& out,
                 std::index_sequence<I...>) {
  const auto add = [&]<std::size_t N>() {
    using Access = std::remove_cvref_t<decltype(table.template access<N>())>;
    const std::string at = fmt::format("{}.{}", path, table.template name<N>());
    if constexpr (std::is_member_object_pointer_v<Access>) {
      [&]<class M, class T>(M T::*) { add_type<M>(at, out); }(table.template access<N>());
    } else if constexpr (requires { Access::kCount; }) {
      out.insert(at);
      add_paths(table.template access<N>(), at, out);
    } else {
      out.insert(at);
    }
  };
  (add.template operator()<I>(), ...);
}

void add_paths(const auto& table, const std::string& path, std::set<std::string>& out) {
  using Table = std::remove_cvref_t<decltype(table)>;
  add_entries(table, path, out, std::make_index_sequence<Table::kCount>());
}

template <class Kind>
class StructFields : public ::testing::Test {};
using Kinds = ::testing::Types<Accounting, Cluster, Controller, LoginSet, NodeSet, RestApi, Token>;
TYPED_TEST_SUITE(StructFields, Kinds);

TYPED_TEST(StructFields, AreAllInTheSchema) {
  std::set<std::string> in_schema;
  for (const SchemaRow& row : rows_of(crd_of(TypeParam::kResource.kind))) {
    in_schema.insert(row.path);
  }
  std::set<std::string> read;
  add_paths(json_fields(json::Tag<TypeParam>{}), "", read);
  EXPECT_TRUE(read.contains(".status.conditions[].reason"));
  for (const std::string& path : read) {
    if (!path.starts_with(".metadata")) EXPECT_TRUE(in_schema.contains(path)) << path;
  }
}

TYPED_TEST(StructFields, ShowEveryValueThatTheSchemaKnows) {
  const Value root =
      *crd_of(TypeParam::kResource.kind).at_pointer("/spec/versions/0/schema/openAPIV3Schema");
  std::set<std::string> leaves;
  const auto first = decode_sample<TypeParam>(root, [&](const std::string& path) {
    leaves.insert(path);
    return false;
  });
  ASSERT_GT(leaves.size(), 5);
  for (const std::string& leaf : leaves) {
    const auto changed =
        decode_sample<TypeParam>(root, [&](const std::string& path) { return path == leaf; });
    EXPECT_FALSE(changed == first) << leaf << " is in the schema and not read";
  }
}

}  // namespace
}  // namespace mainspring::api
