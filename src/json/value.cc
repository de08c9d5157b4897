#include "json/value.h"

#include <cmath>
#include <limits>
#include <new>

#include "json/value_internal.h"

namespace mainspring::json {
namespace bj = boost::json;

static_assert(sizeof(Value) == sizeof(bj::value) && alignof(Value) >= alignof(bj::value));

namespace {

bool on_the_heap(const bj::value& value) noexcept {
  return value.storage().get() == bj::storage_ptr().get();
}

bj::object& made_object(Value& value) {
  bj::value& inside = Inside::of(value);
  return inside.is_object() ? inside.get_object() : inside.emplace_object();
}

bj::array& made_array(Value& value) {
  bj::value& inside = Inside::of(value);
  return inside.is_array() ? inside.get_array() : inside.emplace_array();
}

// 2^63 and 2^64 are exact as doubles; the largest int64 and uint64 are not.
constexpr double kTwo63 = 9223372036854775808.0;
constexpr double kTwo64 = 18446744073709551616.0;

bool equal_numbers(const bj::value& a, const bj::value& b) noexcept {
  if (a.is_double() && b.is_double()) return a.get_double() == b.get_double();
  if (a.is_double()) return equal_numbers(b, a);
  if (b.is_double()) {
    const double real = b.get_double();
    if (a.is_int64()) {
      return real >= -kTwo63 && real < kTwo63 && std::trunc(real) == real &&
             static_cast<std::int64_t>(real) == a.get_int64();
    }
    return real >= 0 && real < kTwo64 && std::trunc(real) == real &&
           static_cast<std::uint64_t>(real) == a.get_uint64();
  }
  if (a.is_int64() && b.is_int64()) return a.get_int64() == b.get_int64();
  if (a.is_uint64() && b.is_uint64()) return a.get_uint64() == b.get_uint64();
  const std::int64_t integer = a.is_int64() ? a.get_int64() : b.get_int64();
  const std::uint64_t natural = a.is_uint64() ? a.get_uint64() : b.get_uint64();
  return std::cmp_equal(integer, natural);
}

bool equal(const bj::value& a, const bj::value& b) noexcept;

bool equal_objects(const bj::object& a, const bj::object& b) noexcept {
  if (a.size() != b.size()) return false;
  auto other = b.begin();
  for (const auto& member : a) {
    // Two answers of one server have their members in one order: look there before searching.
    const bj::value* match =
        other->key() == member.key() ? &other->value() : b.if_contains(member.key());
    if (match == nullptr || !equal(member.value(), *match)) return false;
    ++other;
  }
  return true;
}

bool equal(const bj::value& a, const bj::value& b) noexcept {
  if (a.is_number() && b.is_number()) return equal_numbers(a, b);
  if (a.kind() != b.kind()) return false;
  switch (a.kind()) {
    case bj::kind::string:
      return a.get_string() == b.get_string();
    case bj::kind::bool_:
      return a.get_bool() == b.get_bool();
    case bj::kind::object:
      return equal_objects(a.get_object(), b.get_object());
    case bj::kind::array: {
      const bj::array& x = a.get_array();
      const bj::array& y = b.get_array();
      if (x.size() != y.size()) return false;
      for (std::size_t i = 0; i < x.size(); ++i) {
        if (!equal(x[i], y[i])) return false;
      }
      return true;
    }
    default:
      return true;
  }
}

}  // namespace

Value::Value() noexcept { new (storage_) bj::value(); }
Value::Value(std::nullptr_t) noexcept : Value() {}
Value::Value(std::string_view text) {
  new (storage_) bj::value(bj::string_view(text.data(), text.size()));
}
Value::Value(const Value& other) { new (storage_) bj::value(Inside::of(other)); }
Value::Value(Value&& other) noexcept {
  bj::value& inside = Inside::of(other);
  if (on_the_heap(inside)) {
    new (storage_) bj::value(std::move(inside));
  } else {
    new (storage_) bj::value(inside, bj::storage_ptr());
  }
}
Value& Value::operator=(const Value& other) {
  if (this != &other) Inside::of(*this) = Inside::of(other);
  return *this;
}
Value& Value::operator=(Value&& other) noexcept {
  Inside::of(*this) = std::move(Inside::of(other));
  return *this;
}
Value::~Value() { Inside::of(*this).~value(); }

void Value::set_bool(bool scalar) noexcept { Inside::of(*this) = scalar; }
void Value::set_int(std::int64_t scalar) noexcept { Inside::of(*this) = scalar; }
void Value::set_uint(std::uint64_t scalar) noexcept {
  // One representation for one number, as the parser has it.
  if (std::in_range<std::int64_t>(scalar)) {
    Inside::of(*this) = static_cast<std::int64_t>(scalar);
  } else {
    Inside::of(*this) = scalar;
  }
}
void Value::set_double(double scalar) noexcept { Inside::of(*this) = scalar; }

Value Value::object() {
  Value value;
  Inside::of(value).emplace_object();
  return value;
}

Value Value::object(std::initializer_list<Member> members) {
  Value value = object();
  bj::object& inside = Inside::of(value).get_object();
  inside.reserve(members.size());
  for (const Member& member : members) {
    inside.insert_or_assign(member.key, Inside::of(member.value));
  }
  return value;
}

Value Value::array() {
  Value value;
  Inside::of(value).emplace_array();
  return value;
}

Value Value::array(std::initializer_list<Value> items) {
  Value value = array();
  bj::array& inside = Inside::of(value).get_array();
  inside.reserve(items.size());
  for (const Value& item : items) inside.push_back(Inside::of(item));
  return value;
}

Value::Kind Value::kind() const noexcept {
  switch (Inside::of(*this).kind()) {
    case bj::kind::bool_:
      return Kind::kBool;
    case bj::kind::int64:
      return Kind::kInt;
    case bj::kind::uint64:
      return Kind::kUint;
    case bj::kind::double_:
      return Kind::kDouble;
    case bj::kind::string:
      return Kind::kString;
    case bj::kind::array:
      return Kind::kArray;
    case bj::kind::object:
      return Kind::kObject;
    case bj::kind::null:
      break;
  }
  return Kind::kNull;
}

std::optional<bool> Value::as_bool() const noexcept {
  const bool* scalar = Inside::of(*this).if_bool();
  return scalar == nullptr ? std::nullopt : std::optional(*scalar);
}

std::optional<std::int64_t> Value::as_int() const noexcept {
  const bj::value& inside = Inside::of(*this);
  if (const auto* integer = inside.if_int64()) return *integer;
  if (const auto* natural = inside.if_uint64()) {
    if (std::in_range<std::int64_t>(*natural)) return static_cast<std::int64_t>(*natural);
  } else if (const auto* real = inside.if_double()) {
    if (*real >= -kTwo63 && *real < kTwo63 && std::trunc(*real) == *real) {
      return static_cast<std::int64_t>(*real);
    }
  }
  return std::nullopt;
}

std::optional<std::uint64_t> Value::as_uint() const noexcept {
  const bj::value& inside = Inside::of(*this);
  if (const auto* natural = inside.if_uint64()) return *natural;
  if (const auto* integer = inside.if_int64()) {
    if (*integer >= 0) return static_cast<std::uint64_t>(*integer);
  } else if (const auto* real = inside.if_double()) {
    if (*real >= 0 && *real < kTwo64 && std::trunc(*real) == *real) {
      return static_cast<std::uint64_t>(*real);
    }
  }
  return std::nullopt;
}

std::optional<double> Value::as_double() const noexcept {
  const bj::value& inside = Inside::of(*this);
  if (const auto* real = inside.if_double()) return *real;
  if (const auto* integer = inside.if_int64()) return static_cast<double>(*integer);
  if (const auto* natural = inside.if_uint64()) return static_cast<double>(*natural);
  return std::nullopt;
}

std::optional<std::string_view> Value::as_string() const noexcept {
  const bj::string* text = Inside::of(*this).if_string();
  if (text == nullptr) return std::nullopt;
  return std::string_view(text->data(), text->size());
}

std::size_t Value::size() const noexcept {
  const bj::value& inside = Inside::of(*this);
  if (const bj::object* object = inside.if_object()) return object->size();
  if (const bj::array* array = inside.if_array()) return array->size();
  return 0;
}

const Value* Value::find(std::string_view key) const noexcept {
  const bj::object* object = Inside::of(*this).if_object();
  if (object == nullptr) return nullptr;
  const bj::value* found = object->if_contains(key);
  return found == nullptr ? nullptr : &Inside::around(*found);
}

Value* Value::find(std::string_view key) noexcept {
  return const_cast<Value*>(std::as_const(*this).find(key));
}

Value& Value::operator[](std::string_view key) { return Inside::around(made_object(*this)[key]); }

Value& Value::set(std::string_view key, Value value) {
  Value& member = (*this)[key];
  member = std::move(value);
  return member;
}

bool Value::erase(std::string_view key) noexcept {
  bj::object* object = Inside::of(*this).if_object();
  if (object == nullptr) return false;
  const auto member = object->find(key);
  if (member == object->end()) return false;
  object->stable_erase(member);
  return true;
}

const Value* Value::begin() const noexcept {
  const bj::array* array = Inside::of(*this).if_array();
  return array == nullptr ? nullptr : &Inside::around(*array->data());
}

const Value* Value::end() const noexcept {
  const bj::array* array = Inside::of(*this).if_array();
  return array == nullptr ? nullptr : &Inside::around(*array->data()) + array->size();
}

Value* Value::begin() noexcept { return const_cast<Value*>(std::as_const(*this).begin()); }
Value* Value::end() noexcept { return const_cast<Value*>(std::as_const(*this).end()); }

Value& Value::push_back(Value value) {
  bj::array& array = made_array(*this);
  array.push_back(std::move(Inside::of(value)));
  return Inside::around(array.back());
}

Value& Value::insert(std::size_t index, Value value) {
  bj::array& array = made_array(*this);
  return Inside::around(*array.insert(array.begin() + static_cast<std::ptrdiff_t>(index),
                                      std::move(Inside::of(value))));
}

void Value::erase_at(std::size_t index) noexcept {
  bj::array& array = Inside::of(*this).get_array();
  array.erase(array.begin() + static_cast<std::ptrdiff_t>(index));
}

void Value::reserve(std::size_t items) { made_array(*this).reserve(items); }

bool operator==(const Value& a, const Value& b) noexcept {
  return equal(Inside::of(a), Inside::of(b));
}

MemberRange<const Value> Value::members() const noexcept {
  const bj::object* object = Inside::of(*this).if_object();
  if (object == nullptr) return {nullptr, nullptr};
  auto* first = const_cast<bj::key_value_pair*>(object->begin());
  return {first, first + object->size()};
}

MemberRange<Value> Value::members() noexcept {
  bj::object* object = Inside::of(*this).if_object();
  if (object == nullptr) return {nullptr, nullptr};
  return {object->begin(), object->begin() + object->size()};
}

template <class V>
MemberRef<V> MemberRange<V>::Iterator::operator*() const noexcept {
  auto& pair = *static_cast<bj::key_value_pair*>(at_);
  return {std::string_view(pair.key().data(), pair.key().size()), Inside::around(pair.value())};
}

template <class V>
typename MemberRange<V>::Iterator& MemberRange<V>::Iterator::operator++() noexcept {
  at_ = static_cast<bj::key_value_pair*>(at_) + 1;
  return *this;
}

template class MemberRange<Value>;
template class MemberRange<const Value>;

}  // namespace mainspring::json
