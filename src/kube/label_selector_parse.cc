// The text form of label selectors. The grammar is the API server's, with its corners: "in" and
// "notin" are words only where an operator can stand, a missing value is the empty one, and
// "(a,,b)" holds three values.
#include <fmt/format.h>

#include <utility>

#include "base/text.h"
#include "kube/label_selector.h"

namespace mainspring::kube {

namespace {

enum class Token {
  kEnd,
  kWord,
  kComma,
  kOpen,
  kClose,
  kNot,
  kEqual,
  kDouble,
  kNotEqual,
  kMore,
  kLess
};

struct Lexeme {
  Token token = Token::kEnd;
  std::string_view text;
};

bool is_blank(char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; }

class Lexer {
 public:
  explicit Lexer(std::string_view text) : rest_(text) { advance(); }

  const Lexeme& peek() const { return next_; }
  Lexeme take() {
    const Lexeme taken = next_;
    advance();
    return taken;
  }
  bool take_if(Token token) {
    if (next_.token != token) return false;
    advance();
    return true;
  }

 private:
  static constexpr std::pair<std::string_view, Token> kSymbols[] = {
      {"!=", Token::kNotEqual}, {"==", Token::kDouble}, {"=", Token::kEqual},
      {"!", Token::kNot},       {"(", Token::kOpen},    {")", Token::kClose},
      {",", Token::kComma},     {">", Token::kMore},    {"<", Token::kLess},
  };

  void advance() {
    while (!rest_.empty() && is_blank(rest_.front())) rest_.remove_prefix(1);
    next_ = {rest_.empty() ? Token::kEnd : Token::kWord, {}};
    for (const auto& [symbol, token] : kSymbols) {
      if (!rest_.starts_with(symbol)) continue;
      next_.token = token;
      return cut(symbol.size());
    }
    cut(std::min(rest_.find_first_of("=!(),>< \t\r\n"), rest_.size()));
  }

  void cut(std::size_t size) {
    next_.text = rest_.substr(0, size);
    rest_.remove_prefix(size);
  }

  std::string_view rest_;
  Lexeme next_;
};

tl::unexpected<Error> expected(std::string_view what, const Lexeme& found) {
  return fail(Code::kInvalid, found.token == Token::kEnd
                                  ? fmt::format("expected {}, found the end", what)
                                  : fmt::format("expected {}, found {}", what, quoted(found.text)));
}

class Parser {
 public:
  explicit Parser(std::string_view text) : lexer_(text) {}

  Result<LabelSelector> parse() {
    std::vector<LabelRequirement> requirements;
    if (lexer_.peek().token == Token::kEnd) return LabelSelector::everything();
    do {
      MS_TRY(LabelRequirement requirement, parse_requirement());
      requirements.push_back(std::move(requirement));
    } while (lexer_.take_if(Token::kComma));
    if (lexer_.peek().token != Token::kEnd) return expected("',' or the end", lexer_.peek());
    return LabelSelector(std::move(requirements));
  }

 private:
  Result<LabelRequirement> parse_requirement() {
    const bool negated = lexer_.take_if(Token::kNot);
    const Lexeme key = lexer_.take();
    if (key.token != Token::kWord) return expected(negated ? "a key" : "a key or '!'", key);
    if (negated) return LabelRequirement::make(key.text, LabelOperator::kDoesNotExist, {});
    if (lexer_.peek().token == Token::kEnd || lexer_.peek().token == Token::kComma) {
      return LabelRequirement::make(key.text, LabelOperator::kExists, {});
    }
    MS_TRY(const LabelOperator op, parse_operator());
    const bool set = op == LabelOperator::kIn || op == LabelOperator::kNotIn;
    MS_TRY(std::vector<std::string> values, set ? parse_set() : parse_value());
    return LabelRequirement::make(key.text, op, std::move(values));
  }

  Result<LabelOperator> parse_operator() {
    const Lexeme found = lexer_.take();
    switch (found.token) {
      case Token::kEqual:
        return LabelOperator::kEquals;
      case Token::kDouble:
        return LabelOperator::kDoubleEquals;
      case Token::kNotEqual:
        return LabelOperator::kNotEquals;
      case Token::kMore:
        return LabelOperator::kGreaterThan;
      case Token::kLess:
        return LabelOperator::kLessThan;
      default:
        break;
    }
    if (found.text == "in") return LabelOperator::kIn;
    if (found.text == "notin") return LabelOperator::kNotIn;
    return expected("one of in, notin, =, ==, !=, >, <", found);
  }

  Result<std::vector<std::string>> parse_value() {
    const Token next = lexer_.peek().token;
    if (next == Token::kEnd || next == Token::kComma) return std::vector<std::string>{""};
    const Lexeme value = lexer_.take();
    if (value.token != Token::kWord) return expected("a value", value);
    return std::vector<std::string>{std::string(value.text)};
  }

  Result<std::vector<std::string>> parse_set() {
    std::vector<std::string> values;
    if (!lexer_.take_if(Token::kOpen)) return expected("'('", lexer_.peek());
    if (lexer_.take_if(Token::kClose)) return values;
    // Commas are counted as the API server does: "(a,,b)" has an empty value, "(a,,)" is refused.
    while (true) {
      if (lexer_.peek().token == Token::kWord) {
        values.emplace_back(lexer_.take().text);
        if (lexer_.take_if(Token::kClose)) return values;
        if (lexer_.peek().token != Token::kComma) return expected("',' or ')'", lexer_.peek());
      } else if (lexer_.take_if(Token::kComma)) {
        if (values.empty()) values.emplace_back();
        if (lexer_.peek().token == Token::kClose) values.emplace_back();
        if (lexer_.take_if(Token::kClose)) return values;
        if (lexer_.take_if(Token::kComma)) values.emplace_back();
      } else {
        return expected("a value or ','", lexer_.peek());
      }
    }
  }

  Lexer lexer_;
};

}  // namespace

Result<LabelSelector> LabelSelector::parse(std::string_view text) {
  return with_context(Parser(text).parse(), "label selector " + quoted(text));
}

}  // namespace mainspring::kube
