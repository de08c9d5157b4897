// Values are made from the Reader, so that there is one set of rules for what JSON is and one way
// to say where it is broken; Boost.JSON only stores the result.
#include <boost/json/monotonic_resource.hpp>
#include <boost/json/value_stack.hpp>

#include <algorithm>
#include <vector>

#include "json/reader.h"
#include "json/value.h"
#include "json/value_internal.h"

namespace mainspring::json {
namespace bj = boost::json;
namespace {

// Keeps every string and container within what Boost.JSON can hold.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;

class Builder {
 public:
  Builder(Reader& reader, bj::storage_ptr storage)
      : reader_(reader), stack_(bj::storage_ptr(), buffer_, sizeof buffer_) {
    stack_.reset(std::move(storage));
  }

  // Recursion is bounded by the Reader's depth limit.
  bool build() {
    switch (reader_.kind()) {
      case Reader::Kind::kObject:
        return build_object();
      case Reader::Kind::kArray:
        return build_array();
      case Reader::Kind::kString:
        return build_string();
      case Reader::Kind::kNumber:
        return build_number();
      case Reader::Kind::kBool: {
        bool scalar = false;
        if (!reader_.read(scalar)) return false;
        stack_.push_bool(scalar);
        return true;
      }
      case Reader::Kind::kNull: {
        bool none = false;
        reader_.read(none);
        stack_.push_null();
        return reader_.ok();
      }
      case Reader::Kind::kNothing:
        break;
    }
    return reader_.skip();
  }

  bj::value release() { return stack_.release(); }

 private:
  bool build_object() {
    const std::size_t first = keys_.size();
    const bool whole = reader_.object([&](std::string_view key) {
      keys_.push_back(key);
      stack_.push_key({key.data(), key.size()});
      build();
    });
    if (!whole || !check_repeated(first)) return false;
    stack_.push_object(keys_.size() - first);
    keys_.resize(first);
    return true;
  }

  bool build_array() {
    std::size_t count = 0;
    const bool whole = reader_.array([&] {
      ++count;
      build();
    });
    if (whole) stack_.push_array(count);
    return whole;
  }

  bool build_string() {
    std::string_view text;
    if (!reader_.read(text)) return false;
    stack_.push_string({text.data(), text.size()});
    return true;
  }

  bool build_number() {
    Number number;
    if (!reader_.read(number)) return false;
    switch (number.type) {
      case Number::Type::kInt:
        stack_.push_int64(number.integer);
        break;
      case Number::Type::kUint:
        stack_.push_uint64(number.natural);
        break;
      case Number::Type::kDouble:
        stack_.push_double(number.real);
        break;
    }
    return true;
  }

  bool check_repeated(std::size_t first) {
    const auto begin = keys_.begin() + static_cast<std::ptrdiff_t>(first);
    constexpr std::size_t kFew = 12;
    auto repeated = keys_.end();
    if (keys_.size() - first <= kFew) {
      for (auto key = begin; key != keys_.end() && repeated == keys_.end(); ++key) {
        if (std::find(begin, key, *key) != key) repeated = key;
      }
    } else {
      std::sort(begin, keys_.end());
      repeated = std::adjacent_find(begin, keys_.end());
    }
    if (repeated == keys_.end()) return true;
    reader_.refuse_repeated(*repeated);
    return false;
  }

  Reader& reader_;
  unsigned char buffer_[4096];
  bj::value_stack stack_;
  // The keys of the objects that are open, outermost first. They point into the Reader's text.
  std::vector<std::string_view> keys_;
};

Result<bj::value> parse_into(std::string_view text, ParseOptions options, bj::storage_ptr storage) {
  Reader reader(Reader::Options{.max_bytes = std::min(options.max_bytes, kMostBytes)});
  reader.open(text);
  Builder builder(reader, std::move(storage));
  builder.build();
  MS_CHECK(reader.finish());
  return builder.release();
}

}  // namespace

bool read(Reader& reader, Value& out) {
  Builder builder(reader, bj::storage_ptr());
  if (!builder.build()) return false;
  Inside::of(out) = builder.release();
  return true;
}

Result<Value> parse(std::string_view text, ParseOptions options) {
  MS_TRY(bj::value inside, parse_into(text, options, bj::storage_ptr()));
  Value value;
  Inside::of(value) = std::move(inside);
  return value;
}

struct Document::Arena {
  explicit Arena(std::size_t first) : memory(first) {}
  bj::monotonic_resource memory;
  bj::value root;
};

Result<Document> Document::parse(std::string_view text, ParseOptions options) {
  auto arena = std::make_unique<Arena>(std::max<std::size_t>(text.size(), 1024));
  MS_TRY(bj::value inside, parse_into(text, options, &arena->memory));
  // Rebuilt in place, since assignment would keep the storage of the value assigned to.
  arena->root.~value();
  new (&arena->root) bj::value(std::move(inside));
  return Document(std::move(arena));
}

Document::Document(std::unique_ptr<Arena> arena) : arena_(std::move(arena)) {}
Document::Document(Document&&) noexcept = default;
Document& Document::operator=(Document&&) noexcept = default;
Document::~Document() = default;

Value& Document::root() noexcept { return Inside::around(arena_->root); }
const Value& Document::root() const noexcept { return Inside::around(arena_->root); }

}  // namespace mainspring::json
