// json/list_splitter.h
//
// ListSplitter: takes the long list out of a document while the document is still arriving, so that
// an answer of 80 MB is decoded element by element and never stands in memory as a whole.
//
//   ListSplitter splitter({.list = "jobs"});
//   for each piece of the body:          // of any size, cut anywhere
//     MS_CHECK(splitter.feed(piece, [&](std::string_view job) { return take(job); }));
//   MS_TRY(std::string_view envelope, splitter.finish());   // {"jobs": [], "last_update": ...}
//
// The elements of the array that the top-level member `list` holds are handed out one at a time;
// everything else is kept and handed out at the end, with that array emptied. A member of that name
// that holds something else (null, in some answers) stays as it is; has_list() tells.
//
// What is checked: where elements and top-level members begin and end, the commas and colons around
// them, quotes, how many brackets are open, the member coming twice, trailing bytes. All else is
// for whoever decodes the parts with json/reader.h: what it accepts, envelope and every element, is
// together an acceptable document. Names are compared as they are written: a server that wrote
// "\u006aobs" for "jobs" would find its list in the envelope.
//
// Errors stick, and neither they nor the parts depend on how the document was cut. Owned by whoever
// receives the body; lives on one loop. Holds at most one element and the envelope.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include "base/result.h"

namespace mainspring::json {

// How far into brackets and quotes a scan has come.
struct Nesting {
  std::size_t depth = 0;
  bool in_string = false;
  bool escaped = false;  // by a backslash just before
};

class ListSplitter {
 public:
  struct Options {
    std::string_view list;  // must outlive the splitter
    std::size_t max_element = std::size_t{16} << 20;
    std::size_t max_envelope = std::size_t{1} << 20;
  };

  explicit ListSplitter(Options options) : options_(options) {}

  // Calls `on_element(text)` for each element that is complete now; the text is good until the
  // callback returns. The callback returns nothing, or a Result<void> whose error ends it all.
  template <class OnElement>
  Result<void> feed(std::string_view piece, OnElement&& on_element);

  // After the last piece. The text is good as long as the splitter.
  Result<std::string_view> finish();

  // Whether the list was met, even an empty one.
  bool has_list() const { return has_list_; }

 private:
  // What the next byte is for. A value goes to the envelope or, inside the list, to the caller.
  enum class State {
    kDocument,
    kFirstKey,
    kKey,
    kInKey,
    kColon,
    kFirstElement,
    kValue,
    kInValue,   // a string, an object or an array
    kInScalar,  // a number or a word, which only the byte behind it ends
    kAfterValue,
    kEnd,
  };

  void begin(std::string_view piece);
  bool next(std::string_view& element);
  bool step(std::string_view& element);
  void step_between();
  void start_value();
  bool end_value(std::string_view& element);
  void end_key();
  void enter_list();
  void leave_list();
  void keep();
  void carry();
  void broken(Code code, std::string message);
  void expected(const char* what);
  void element_too_large();
  std::size_t offset() const { return fed_ + static_cast<std::size_t>(at_ - piece_); }

  Options options_;
  State state_ = State::kDocument;
  Nesting nesting_;
  bool in_list_ = false;
  bool has_list_ = false;
  bool name_seen_ = false;
  bool name_is_next_ = false;  // the value that comes next belongs to the name

  std::size_t fed_ = 0;  // bytes in the pieces before this one
  const char* piece_ = nullptr;
  const char* at_ = nullptr;
  const char* end_ = nullptr;
  const char* kept_ = nullptr;   // what lies before it is in the envelope, or is the list's
  const char* value_ = nullptr;  // where the element starts, or goes on, in this piece

  std::size_t key_at_ = 0;      // in the envelope
  std::size_t element_at_ = 0;  // in the document
  std::string element_;         // what earlier pieces held of the element
  std::string envelope_;
  std::optional<Error> error_;
};

template <class OnElement>
Result<void> ListSplitter::feed(std::string_view piece, OnElement&& on_element) {
  begin(piece);
  std::string_view element;
  while (next(element)) {
    if constexpr (std::is_void_v<std::invoke_result_t<OnElement&, std::string_view>>) {
      on_element(element);
    } else if (Result<void> result = on_element(element); !result) {
      error_ = std::move(result).error();
    }
  }
  if (error_) return fail(*error_);
  return {};
}

}  // namespace mainspring::json
