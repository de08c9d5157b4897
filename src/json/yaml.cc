// libfyaml splits the text into events; everything that gives them a meaning, and every limit, is
// here. Its documents are not used: they would be a second tree beside the Value.
#include "json/yaml.h"

#include <fmt/format.h>
#include <libfyaml.h>

#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>

#include "base/text.h"
#include "json/yaml_scalar.h"

namespace mainspring::json {
namespace {

constexpr std::string_view kCoreTag = "tag:yaml.org,2002:";

std::string place(int line, int column) {
  return fmt::format("line {}, column {}", line + 1, column + 1);
}

std::string_view text_of(fy_token* token) {
  if (token == nullptr) return {};
  std::size_t size = 0;
  const char* text = fy_token_get_text(token, &size);
  return text == nullptr ? std::string_view() : std::string_view(text, size);
}

// Values and bytes of text in `value`: what a copy of it costs.
std::size_t weight(const Value& value) {
  std::size_t sum = 1 + value.as_string().value_or("").size();
  for (const Value& item : value) sum += weight(item);
  for (const auto [key, member] : value.members()) sum += key.size() + weight(member);
  return sum;
}

// What a key becomes; JSON has only strings there.
std::optional<std::string> key_text(const Value& key) {
  switch (key.kind()) {
    case Value::Kind::kString:
      return std::string(*key.as_string());
    case Value::Kind::kBool:
    case Value::Kind::kInt:
    case Value::Kind::kUint:
    case Value::Kind::kDouble:
      return to_text(key);
    case Value::Kind::kNull:
    case Value::Kind::kArray:
    case Value::Kind::kObject:
      break;
  }
  return std::nullopt;
}

class Parser {
 public:
  Parser(std::string_view text, YamlOptions options)
      : options_(options), diag_(fy_diag_create(nullptr)) {
    fy_diag_set_collect_errors(diag_.get(), true);
    fy_parse_cfg config{};
    // Brackets may be indented as one likes, as in every JSON file and in Go's reader.
    config.flags = static_cast<fy_parse_cfg_flags>(FYPCF_QUIET | FYPCF_COLLECT_DIAG |
                                                   FYPCF_SLOPPY_FLOW_INDENTATION | FYPCF_JSON_NONE |
                                                   FYPCF_DISABLE_DEPTH_LIMIT);
    config.diag = diag_.get();
    parser_.reset(fy_parser_create(&config));
    if (parser_ && fy_parser_set_string(parser_.get(), text.data(), text.size()) != 0) {
      parser_.reset();
    }
  }
  ~Parser() {
    drop_event();
    // Collected errors are freed by nothing else, and their tokens belong to the parser.
    fy_diag_reset_error(diag_.get());
  }
  Parser(const Parser&) = delete;
  Parser& operator=(const Parser&) = delete;

  Result<std::vector<Value>> documents() {
    if (!parser_) return fail(Code::kInternal, "the YAML parser could not be made");
    std::vector<Value> documents;
    while (true) {
      MS_TRY(const fy_event_type type, next());
      if (type == FYET_STREAM_END) return documents;
      if (type != FYET_DOCUMENT_START) continue;
      anchors_.clear();
      MS_CHECK(next());
      MS_TRY(Value value, node(0));
      if (!value.is_null()) documents.push_back(std::move(value));
    }
  }

 private:
  struct FreeDiag {
    void operator()(fy_diag* diag) const { fy_diag_unref(diag); }
  };
  struct FreeParser {
    void operator()(fy_parser* parser) const { fy_parser_destroy(parser); }
  };

  void drop_event() {
    if (event_ != nullptr) fy_parser_event_free(parser_.get(), event_);
    event_ = nullptr;
  }

  Result<fy_event_type> next() {
    drop_event();
    event_ = fy_parser_parse(parser_.get());
    if (event_ == nullptr) return fail(syntax_error());
    return event_->type;
  }

  Error syntax_error() const {
    void* at = nullptr;
    const fy_diag_error* first = fy_diag_errors_iterate(diag_.get(), &at);
    if (first == nullptr || first->msg == nullptr) {
      return {Code::kInvalid, "this is not YAML"};
    }
    return {Code::kInvalid, fmt::format("{}: {}", place(first->line - 1, first->column - 1),
                                        sanitize_utf8(trim(first->msg)))};
  }

  // At the event in hand.
  Error error(Code code, std::string_view message) const {
    const fy_mark* mark = fy_event_start_mark(event_);
    if (mark == nullptr) return {code, std::string(message)};
    return {code, fmt::format("{}: {}", place(mark->line, mark->column), message)};
  }

  // The node that begins with the event in hand; the last event of it is then in hand.
  Result<Value> node(std::size_t depth) {
    if (depth > options_.max_depth) {
      return fail(
          error(Code::kTooLarge, fmt::format("nested deeper than {} levels", options_.max_depth)));
    }
    switch (event_->type) {
      case FYET_ALIAS:
        return alias();
      case FYET_SCALAR: {
        const std::string name(text_of(event_->scalar.anchor));
        MS_TRY(Value value, scalar());
        return anchored(name, std::move(value));
      }
      case FYET_SEQUENCE_START: {
        const std::string name(text_of(event_->sequence_start.anchor));
        MS_CHECK(check_tag(event_->sequence_start.tag, "seq"));
        MS_TRY(Value value, sequence(depth));
        return anchored(name, std::move(value));
      }
      case FYET_MAPPING_START: {
        const std::string name(text_of(event_->mapping_start.anchor));
        MS_CHECK(check_tag(event_->mapping_start.tag, "map"));
        MS_TRY(Value value, mapping(depth));
        return anchored(name, std::move(value));
      }
      default:
        return fail(error(Code::kInvalid, "a value was expected here"));
    }
  }

  Result<void> spend(std::size_t copied) {
    if (copied > options_.max_copied - copied_) {
      return fail(error(Code::kTooLarge,
                        "anchors and aliases expand to too much: write out what they stand for"));
    }
    copied_ += copied;
    return {};
  }

  Result<Value> anchored(const std::string& name, Value value) {
    if (name.empty()) return value;
    MS_CHECK(spend(weight(value)));
    anchors_.insert_or_assign(name, value);
    return value;
  }

  Result<Value> alias() {
    const std::string name(text_of(event_->alias.anchor));
    const auto found = anchors_.find(name);
    if (found == anchors_.end()) {
      return fail(
          error(Code::kInvalid, fmt::format("no anchor &{} stands before this alias", name)));
    }
    MS_CHECK(spend(weight(found->second)));
    return found->second;
  }

  Result<void> check_tag(fy_token* tag, std::string_view expected) const {
    const std::string_view text = text_of(tag);
    if (text.empty() || text == "!") return {};
    if (text.starts_with(kCoreTag) && text.substr(kCoreTag.size()) == expected) return {};
    return fail(error(Code::kInvalid, fmt::format("the tag {} cannot be used here", quoted(text))));
  }

  Result<Value> scalar() {
    const std::string_view text = text_of(event_->scalar.value);
    const std::string_view tag = text_of(event_->scalar.tag);
    if (!is_valid_utf8(text)) {
      return fail(error(Code::kInvalid, "a string is not valid UTF-8: check its escapes"));
    }
    if (!tag.empty()) return tagged_scalar(text, tag);
    if (!is_plain()) return Value(text);
    auto value = resolve_plain_scalar(text);
    if (!value) return fail(error(value.error().code(), value.error().message()));
    return value;
  }

  bool is_plain() const { return fy_token_scalar_style(event_->scalar.value) == FYSS_PLAIN; }

  Result<Value> tagged_scalar(std::string_view text, std::string_view tag) {
    const std::string_view name =
        tag.starts_with(kCoreTag) ? tag.substr(kCoreTag.size()) : std::string_view();
    if (tag == "!" || name == "str" || name == "timestamp") return Value(text);
    auto value = resolve_plain_scalar(text);
    if (value) {
      const bool exact =
          (name == "null" && value->is_null()) || (name == "bool" && value->as_bool()) ||
          (name == "int" && value->is_number() && value->kind() != Value::Kind::kDouble);
      if (exact) return value;
      if (name == "float" && value->is_number()) return Value(*value->as_double());
    }
    return fail(
        error(Code::kInvalid, fmt::format("the tag {} does not fit its value", quoted(tag))));
  }

  Result<Value> sequence(std::size_t depth) {
    Value items = Value::array();
    while (true) {
      MS_TRY(const fy_event_type type, next());
      if (type == FYET_SEQUENCE_END) return items;
      MS_TRY(Value item, node(depth + 1));
      items.push_back(std::move(item));
    }
  }

  Result<Value> mapping(std::size_t depth) {
    Value members = Value::object();
    std::optional<Value> merged;
    while (true) {
      MS_TRY(const fy_event_type type, next());
      if (type == FYET_MAPPING_END) break;
      if (is_merge_key()) {
        if (merged) return fail(error(Code::kInvalid, "a second << in one mapping: use a list"));
        MS_CHECK(next());
        MS_TRY(merged, node(depth + 1));
        MS_CHECK(check_mergeable(*merged));
        continue;
      }
      MS_TRY(const std::string key, mapping_key(members, depth));
      MS_CHECK(next());
      MS_TRY(Value value, node(depth + 1));
      members.set(key, std::move(value));
    }
    if (merged) merge_into(members, *merged);
    return members;
  }

  bool is_merge_key() const {
    return event_->type == FYET_SCALAR && event_->scalar.tag == nullptr && is_plain() &&
           text_of(event_->scalar.value) == "<<";
  }

  Result<std::string> mapping_key(const Value& members, std::size_t depth) {
    const fy_mark* mark = fy_event_start_mark(event_);
    const std::string where = mark == nullptr ? "" : place(mark->line, mark->column) + ": ";
    MS_TRY(const Value key, node(depth + 1));
    auto text = key_text(key);
    if (!text) {
      return fail(Code::kInvalid, where + "a key must be a string, a number or a boolean");
    }
    if (members.find(*text) != nullptr) {
      return fail(Code::kInvalid, fmt::format("{}the key {} comes twice", where, quoted(*text)));
    }
    return *std::move(text);
  }

  Result<void> check_mergeable(const Value& merged) const {
    bool good = merged.is_object() || merged.is_array();
    for (const Value& item : merged) good = good && item.is_object();
    if (good) return {};
    return fail(error(Code::kInvalid, "<< takes a mapping or a list of mappings"));
  }

  // What is there stays, so the earlier of several mappings wins.
  static void merge_into(Value& members, Value& merged) {
    for (Value& mapping : merged) merge_into(members, mapping);
    for (auto [key, value] : merged.members()) {
      if (members.find(key) == nullptr) members.set(key, std::move(value));
    }
  }

  YamlOptions options_;
  std::unique_ptr<fy_diag, FreeDiag> diag_;
  std::unique_ptr<fy_parser, FreeParser> parser_;
  fy_event* event_ = nullptr;
  std::map<std::string, Value, std::less<>> anchors_;
  std::size_t copied_ = 0;
};

}  // namespace

Result<std::vector<Value>> parse_yaml_documents(std::string_view text, YamlOptions options) {
  if (text.size() > options.max_bytes) {
    return fail(Code::kTooLarge, fmt::format("{} bytes of YAML are more than the {} allowed",
                                             text.size(), options.max_bytes));
  }
  // libfyaml would take a zero byte for the end.
  if (text.find('\0') != std::string_view::npos) {
    return fail(Code::kInvalid, "a zero byte: this is not text");
  }
  if (!is_valid_utf8(text)) return fail(Code::kInvalid, "this is not UTF-8");
  if (text.empty()) return std::vector<Value>();
  return Parser(text, options).documents();
}

Result<Value> parse_yaml(std::string_view text, YamlOptions options) {
  MS_TRY(std::vector<Value> documents, parse_yaml_documents(text, options));
  if (documents.empty()) return Value();
  if (documents.size() > 1) {
    return fail(Code::kInvalid, fmt::format("{} documents where one is expected: remove the `---` "
                                            "between them and all but one",
                                            documents.size()));
  }
  return std::move(documents.front());
}

}  // namespace mainspring::json
