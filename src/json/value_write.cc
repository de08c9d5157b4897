#include <boost/json/value.hpp>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <vector>

#include "json/value.h"
#include "json/value_internal.h"

namespace mainspring::json {
namespace bj = boost::json;
namespace {

class Writer {
 public:
  Writer(std::string& out, WriteOptions options) : out_(out), options_(options) {}

  void write(const bj::value& value) {
    switch (value.kind()) {
      case bj::kind::object:
        return write_object(value.get_object());
      case bj::kind::array:
        return write_array(value.get_array());
      case bj::kind::string:
        return write_string(value.get_string());
      case bj::kind::int64:
        return write_number(value.get_int64());
      case bj::kind::uint64:
        return write_number(value.get_uint64());
      case bj::kind::double_:
        return write_double(value.get_double());
      case bj::kind::bool_:
        out_ += value.get_bool() ? "true" : "false";
        return;
      case bj::kind::null:
        out_ += "null";
        return;
    }
  }

 private:
  void write_object(const bj::object& object) {
    if (object.empty()) {
      out_ += "{}";
      return;
    }
    open('{');
    bool first = true;
    if (options_.sort_keys) {
      for (const bj::key_value_pair* member : sorted(object)) write_member(*member, first);
    } else {
      for (const bj::key_value_pair& member : object) write_member(member, first);
    }
    close('}');
  }

  void write_member(const bj::key_value_pair& member, bool& first) {
    separate(first);
    write_string(member.key());
    out_ += options_.indent > 0 ? ": " : ":";
    write(member.value());
  }

  void write_array(const bj::array& array) {
    if (array.empty()) {
      out_ += "[]";
      return;
    }
    open('[');
    bool first = true;
    for (const bj::value& item : array) {
      separate(first);
      write(item);
    }
    close(']');
  }

  static std::vector<const bj::key_value_pair*> sorted(const bj::object& object) {
    std::vector<const bj::key_value_pair*> members;
    members.reserve(object.size());
    for (const bj::key_value_pair& member : object) members.push_back(&member);
    std::sort(members.begin(), members.end(),
              [](const auto* a, const auto* b) { return a->key() < b->key(); });
    return members;
  }

  void open(char bracket) {
    out_ += bracket;
    ++depth_;
  }

  void separate(bool& first) {
    if (!first) out_ += ',';
    first = false;
    break_line();
  }

  void close(char bracket) {
    --depth_;
    break_line();
    out_ += bracket;
  }

  void break_line() {
    if (options_.indent <= 0) return;
    out_ += '\n';
    out_.append(depth_ * static_cast<std::size_t>(options_.indent), ' ');
  }

  void write_string(bj::string_view text) {
    out_ += '"';
    const char* plain = text.data();
    const char* const end = plain + text.size();
    for (const char* p = plain; p != end; ++p) {
      const auto c = static_cast<unsigned char>(*p);
      if (c >= 0x20 && c != '"' && c != '\\') continue;
      out_.append(plain, p);
      write_escape(c);
      plain = p + 1;
    }
    out_.append(plain, end);
    out_ += '"';
  }

  void write_escape(unsigned char c) {
    constexpr char kHex[] = "0123456789abcdef";
    switch (c) {
      case '"':
        out_ += "\\\"";
        return;
      case '\\':
        out_ += "\\\\";
        return;
      case '\n':
        out_ += "\\n";
        return;
      case '\r':
        out_ += "\\r";
        return;
      case '\t':
        out_ += "\\t";
        return;
      default:
        out_ += "\\u00";
        out_ += kHex[c >> 4];
        out_ += kHex[c & 15];
    }
  }

  template <class Int>
  void write_number(Int number) {
    char digits[24];
    out_.append(digits, std::to_chars(digits, digits + sizeof digits, number).ptr);
  }

  void write_double(double number) {
    if (!std::isfinite(number)) {
      out_ += "null";
      return;
    }
    char digits[32];
    const std::string_view text(
        digits, static_cast<std::size_t>(std::to_chars(digits, digits + sizeof digits, number).ptr -
                                         digits));
    out_ += text;
    // Stays a double when it is read again.
    if (text.find_first_of(".e") == std::string_view::npos) out_ += ".0";
  }

  std::string& out_;
  WriteOptions options_;
  std::size_t depth_ = 0;
};

}  // namespace

std::string to_text(const Value& value, WriteOptions options) {
  std::string out;
  Writer(out, options).write(Inside::of(value));
  return out;
}

}  // namespace mainspring::json
