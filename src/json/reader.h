// json/reader.h
//
// Reader: one forward pass over a JSON document, straight into the fields a projection wants.
// simdjson indexes the document (and checks its UTF-8) with the widest instructions of the machine;
// the Reader walks that index on demand, so a field nobody asks for costs a few hops and no copy.
//
//   Reader reader;                       // keep one per connection: its buffers are reused
//   reader.open(line);
//   reader.object([&](std::string_view key) {
//     if (key == "type") reader.read(type);
//     else if (key == "object") reader.read(pod);   // any type with json_fields, see json/fields.h
//   });                                  // what the callback does not read is skipped
//   MS_CHECK(reader.finish());
//
// Errors stick: after the first one every call returns false, every loop ends, and finish() tells
// what and where ("items[3].spec.containers[0].name: expected a string, found a number"). So
// decoding code has no error handling of its own.
//
// null is absence, as in Kubernetes: a read finds null, leaves its target alone and returns false
// without an error. Use kind() where the difference matters.
//
// What is checked: UTF-8 and string quoting of the whole document; nesting, brackets, trailing
// bytes; everything that is read. What is skipped is checked for matching brackets only, not for
// commas, colons, escapes or number syntax. Repeated keys are an error in tables, maps and Values;
// a hand-written object() callback sees both.
//
// Owned by whoever decodes; lives on one loop. Views it hands out die with the next open().
// It must not be used for editing: that is json/value.h.
#pragma once

#include <cstdint>
#include <cstring>
#include <memory>
#include <string>
#include <string_view>

#include "base/result.h"
#include "json/number.h"

namespace mainspring::json {

struct KeyTable;

class Reader {
 public:
  static constexpr std::size_t kMaxDepth = 512;
  // The index has 32-bit offsets.
  static constexpr std::size_t kMaxBytes = 0xFFFF'FF00;

  struct Options {
    std::size_t max_bytes = kMaxBytes;
  };

  enum class Kind { kNothing, kNull, kBool, kNumber, kString, kArray, kObject };

  Reader();
  explicit Reader(Options options);
  ~Reader();
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  // Starts on a new document and forgets the last one, its error included. Copies into a buffer
  // that is kept, so a steady stream of watch lines allocates nothing.
  void open(std::string_view text);
  // The same without the copy, for bodies of many megabytes; if only kPadding bytes are reserved
  // behind the text, which is what whoever receives a body does.
  static constexpr std::size_t kPadding = 64;
  void adopt(std::string text);

  // What comes next; kNothing at the end, after an error and where there is no value.
  Kind kind() const;

  // Each reads the value that comes next into `out` and says whether it did.
  bool read(std::string_view& out);  // no copy; valid until the next open()
  bool read(std::string& out);
  bool read(bool& out);
  bool read(std::int64_t& out);
  bool read(std::uint64_t& out);
  bool read(std::int32_t& out);
  bool read(std::uint32_t& out);
  bool read(double& out);
  bool read(Number& out);

  // The text of the next value as it stands in the document.
  bool raw(std::string_view& out);
  // Steps over the next value, whatever it is.
  bool skip();

  // Calls `on_field(key)` for each member. True unless the value is null or broken.
  template <class OnField>
  bool object(OnField&& on_field);
  // Calls `on_item()` for each element.
  template <class OnItem>
  bool array(OnItem&& on_item);

  // Lets a projection refuse a value that is good JSON and bad otherwise ("not a quantity").
  // The path of the value read last is added.
  void refuse(std::string message);
  // The error for a key that came twice; for code that keeps its own account of keys.
  void refuse_repeated(std::string_view key);

  // Differs after something was read.
  const void* position() const { return next_; }

  // The steps that object() takes, for tables (json/fields.h), which take others in between. After
  // each member its value must be read or skipped; the end of the object is stepped over.
  bool enter_object() { return enter('{'); }
  // The next member; false at the end of the object.
  bool next_member(std::string_view& key);
  // The next member that may be an entry of `table`, and which; table.count at the end.
  std::size_t next_entry(const KeyTable& table, std::string_view& key);
  // Whether the next member is called `key`, and then steps to its value; says nothing if not.
  bool expect_key(std::string_view key);

  bool ok() const { return !failed_; }
  // Checks that nothing follows the value that was read, and returns the first error.
  Result<void> finish();

 private:
  struct Index;
  // Where we are, for error messages: a key of an object, or a position in an array.
  struct Step {
    const char* key;  // null in an array
    std::size_t at;   // length of the key, or index
  };

  bool start(std::size_t size);
  bool enter(char open);
  bool take_member(std::string_view& key);
  std::size_t next_usual_entry(const KeyTable& table, std::string_view& key);
  bool take_key(std::string_view& key);
  bool first_item();
  bool next_item();
  // A failure keeps its path only until it is reported, so leaving is the same after one.
  bool leave() {
    --depth_;
    return false;
  }

  char here() const { return text_[*next_]; }
  bool read_literal(std::string_view word);
  bool take_string(std::string_view& out);
  bool take_small(std::int64_t& out);
  bool skip_value();
  bool skip_nested();
  bool unescape(char* begin, char* end, std::string_view& out);
  template <class Int>
  bool read_integer(Int& out);
  bool mismatch(const char* expected);
  bool broken(Code code, std::string message);
  std::string path() const;

  Options options_;
  char* text_;                 // padded; strings with escapes are unescaped in place
  const std::uint32_t* next_;  // into the index; past the last token it points at a 0 byte
  const std::uint32_t* end_;
  std::size_t depth_ = 0;
  bool failed_ = false;
  std::unique_ptr<Index> index_;
  std::unique_ptr<Step[]> steps_;
};

// Here, so that a comparison with one kind is a comparison of one byte.
inline Reader::Kind Reader::kind() const {
  switch (here()) {
    case '{':
      return Kind::kObject;
    case '[':
      return Kind::kArray;
    case '"':
      return Kind::kString;
    case 't':
    case 'f':
      return Kind::kBool;
    case 'n':
      return Kind::kNull;
    case '-':
    case '0':
    case '1':
    case '2':
    case '3':
    case '4':
    case '5':
    case '6':
    case '7':
    case '8':
    case '9':
      return Kind::kNumber;
    default:
      return Kind::kNothing;
  }
}

template <class OnField>
bool Reader::object(OnField&& on_field) {
  if (!enter_object()) return false;
  std::string_view key;
  while (next_member(key)) {
    const std::uint32_t* const value = next_;
    on_field(key);
    if (next_ == value) skip();
  }
  return !failed_;
}

inline bool Reader::expect_key(std::string_view key) {
  // The first member stands behind the brace, every other behind a comma.
  const bool first = steps_[depth_].key == nullptr;
  if (!first && here() != ',') return false;
  const std::uint32_t* const token = next_ + (first ? 0 : 1);
  const char* const text = text_ + *token;
  // Padding makes the comparison safe at the end of the document.
  if (*text != '"' || std::memcmp(text + 1, key.data(), key.size()) != 0 ||
      text[1 + key.size()] != '"' || text_[token[1]] != ':') {
    return false;
  }
  steps_[depth_] = {.key = text + 1, .at = key.size()};
  next_ = token + 2;
  return true;
}

template <class OnItem>
bool Reader::array(OnItem&& on_item) {
  if (!enter('[')) return false;
  for (bool more = first_item(); more; more = next_item()) {
    const std::uint32_t* const value = next_;
    on_item();
    if (next_ == value) skip();
  }
  leave();
  return !failed_;
}

}  // namespace mainspring::json
