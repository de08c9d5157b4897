#include "json/reader.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>

#include "json/path.h"

namespace mainspring::json {
namespace {

// A larger index is given back once small documents follow a large one.
constexpr std::size_t kKeep = std::size_t{4} << 20;
constexpr std::size_t kSmallest = std::size_t{4} << 10;

char empty_text[1] = {0};
const std::uint32_t empty_index[1] = {0};

Error index_error(simdjson::error_code code) {
  switch (code) {
    case simdjson::UTF8_ERROR:
      return {Code::kInvalid, "the document is not valid UTF-8"};
    case simdjson::UNCLOSED_STRING:
      return {Code::kInvalid, "the document ends inside a string"};
    case simdjson::UNESCAPED_CHARS:
      return {Code::kInvalid, "a string holds a control character that is not escaped"};
    case simdjson::EMPTY:
      return {Code::kInvalid, "the document is empty"};
    case simdjson::CAPACITY:
      return {Code::kTooLarge, "the document is too large to index"};
    default:
      return {Code::kInvalid,
              fmt::format("the document is not JSON: {}", simdjson::error_message(code))};
  }
}

}  // namespace

struct Reader::Index {
  std::unique_ptr<simdjson::internal::dom_parser_implementation> stage1;
  std::size_t capacity = 0;
  std::string text;
  std::optional<Error> error;

  simdjson::error_code reserve(std::size_t size) {
    if (size <= capacity && (capacity <= kKeep || size > kKeep)) return simdjson::SUCCESS;
    const std::size_t wanted =
        size > kKeep ? size : std::max(kSmallest, std::size_t{1} << (64 - __builtin_clzll(size)));
    capacity = 0;
    stage1.reset();
    // The depth is ours to check; simdjson's own second stage is not used.
    const auto code =
        simdjson::get_active_implementation()->create_dom_parser_implementation(wanted, 1, stage1);
    if (code == simdjson::SUCCESS) capacity = wanted;
    return code;
  }
};

Reader::Reader() : Reader(Options{}) {}

Reader::Reader(Options options)
    : options_(options),
      text_(empty_text),
      next_(empty_index),
      end_(empty_index),
      index_(std::make_unique<Index>()),
      steps_(std::make_unique<Step[]>(kMaxDepth + 1)) {}

Reader::~Reader() = default;

void Reader::open(std::string_view text) {
  std::string& own = index_->text;
  if (own.capacity() > kKeep && text.size() <= kKeep) own = std::string();
  if (text.size() <= std::min(options_.max_bytes, kMaxBytes)) {
    own.reserve(text.size() + kPadding);
    own.assign(text);
  }
  start(text.size());
}

void Reader::adopt(std::string text) {
  index_->text = std::move(text);
  start(index_->text.size());
}

bool Reader::start(std::size_t size) {
  depth_ = 0;
  failed_ = false;
  index_->error.reset();
  text_ = empty_text;
  next_ = end_ = empty_index;
  const std::size_t limit = std::min(options_.max_bytes, kMaxBytes);
  if (size > limit) {
    return broken(Code::kTooLarge,
                  fmt::format("{} bytes are more than the limit of {}", size, limit));
  }
  index_->text.append(kPadding, '\0');
  auto code = index_->reserve(std::max<std::size_t>(size, 1));
  if (code == simdjson::SUCCESS) {
    code = index_->stage1->stage1(reinterpret_cast<const std::uint8_t*>(index_->text.data()), size,
                                  simdjson::stage1_mode::regular);
  }
  if (code != simdjson::SUCCESS) {
    index_->error = index_error(code);
    failed_ = true;
    return false;
  }
  text_ = index_->text.data();
  auto& structural = *index_->stage1;
  next_ = structural.structural_indexes.get();
  end_ = next_ + structural.n_structural_indexes;
  structural.structural_indexes[structural.n_structural_indexes] = static_cast<std::uint32_t>(size);
  structural.structural_indexes[structural.n_structural_indexes + 1] =
      static_cast<std::uint32_t>(size);
  return true;
}

void Reader::refuse(std::string message) { broken(Code::kInvalid, std::move(message)); }

void Reader::refuse_repeated(std::string_view key) {
  broken(Code::kInvalid, fmt::format("the key \"{}\" appears twice", key));
}

bool Reader::broken(Code code, std::string message) {
  if (failed_) return false;
  const std::size_t offset = *next_;
  std::string where = path();
  index_->error =
      Error(code, offset == 0 ? fmt::format("{}: {}", where, message)
                              : fmt::format("{}: {} (at byte {})", where, message, offset));
  failed_ = true;
  // At the end every later call finds nothing to read, with no flag to test on the fast path.
  next_ = end_;
  return false;
}

std::string Reader::path() const {
  std::string path;
  for (std::size_t i = 1; i <= depth_; ++i) {
    const Step& step = steps_[i];
    if (step.key == nullptr) {
      append_index(path, step.at);
    } else {
      append_key(path, std::string_view(step.key, step.at));
    }
  }
  return path.empty() ? "document" : path;
}

Result<void> Reader::finish() {
  if (!failed_ && next_ != end_) broken(Code::kInvalid, "more text follows the document");
  if (failed_) return fail(*index_->error);
  return {};
}

}  // namespace mainspring::json
