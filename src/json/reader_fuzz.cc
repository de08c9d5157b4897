// Foreign bytes through every way of reading: by table, by hand, skipped, captured and as a Value.
// What the Reader accepts whole must be what the parser accepts.
#include <cstdlib>
#include <string>

#include "json/fields.h"
#include "json/value.h"

namespace {

using mainspring::json::Reader;
using mainspring::json::Tag;

struct Inner {
  std::string name;
  std::optional<std::int64_t> number;
  std::map<std::string, double> map;
  mainspring::json::Value rest;
};
constexpr auto json_fields(Tag<Inner>) {
  using mainspring::json::field;
  return mainspring::json::fields(field("a", &Inner::name), field("b", &Inner::number),
                                  field("c", &Inner::map), field("d", &Inner::rest));
}
struct Outer {
  std::vector<Inner> items;
  bool flag = false;
  std::uint32_t small = 0;
};
constexpr auto json_fields(Tag<Outer>) {
  using mainspring::json::field;
  return mainspring::json::fields(
      field("a", &Outer::items),
      mainspring::json::group("b", field("c", &Outer::flag), field("d", &Outer::small)));
}

void walk(Reader& reader) {
  std::string_view text;
  double number = 0;
  bool truth = false;
  switch (reader.kind()) {
    case Reader::Kind::kObject:
      reader.object([&](std::string_view key) {
        if (key.size() % 3 == 0) walk(reader);
        if (key.size() % 3 == 1) reader.raw(text);
      });
      break;
    case Reader::Kind::kArray:
      reader.array([&] { walk(reader); });
      break;
    case Reader::Kind::kString:
      reader.read(text);
      break;
    case Reader::Kind::kNumber:
      reader.read(number);
      break;
    default:
      reader.read(truth);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static Reader reader;
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  static_cast<void>(mainspring::json::decode<Outer>(reader, text));

  reader.open(text);
  walk(reader);
  static_cast<void>(reader.finish());

  reader.open(text);
  std::string_view raw;
  reader.raw(raw);
  const bool balanced = reader.finish().has_value();
  if (mainspring::json::parse(text).has_value() && !balanced) std::abort();
  return 0;
}
