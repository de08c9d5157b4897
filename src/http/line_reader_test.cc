#include "http/line_reader.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include "net/virtual_executor.h"

namespace mainspring::http {
namespace {

using ::testing::ElementsAre;

// A body in the pieces given, each in memory of its own that is gone at the next call.
class Pieces final : public StreamingResponse {
 public:
  explicit Pieces(std::vector<std::string> pieces) : pieces_(std::move(pieces)) {}
  int status() const override { return 200; }
  const Headers& headers() const override { return headers_; }
  Task<Result<std::string_view>> next_chunk() override {
    if (next_ == pieces_.size()) co_return std::string_view();
    current_ = std::make_unique<std::string>(pieces_[next_++]);
    co_return std::string_view(*current_);
  }

 private:
  Headers headers_;
  std::vector<std::string> pieces_;
  std::size_t next_ = 0;
  std::unique_ptr<std::string> current_;
};

Task<Result<std::vector<std::string>>> all_lines(std::vector<std::string> pieces,
                                                 std::size_t limit) {
  LineReader reader(std::make_unique<Pieces>(std::move(pieces)), limit);
  std::vector<std::string> lines;
  for (;;) {
    MS_CO_TRY(const auto line, co_await reader.next());
    if (!line) co_return lines;
    lines.emplace_back(*line);
  }
}

std::vector<std::string> lines_of(std::vector<std::string> pieces) {
  net::VirtualExecutor executor;
  return executor.run(all_lines(std::move(pieces), 1000)).value();
}

TEST(LineReader, JoinsLinesThatSpanPieces) {
  EXPECT_THAT(lines_of({"one\ntw", "o", "\n", "three\r", "\n"}),
              ElementsAre("one", "two", "three"));
}

TEST(LineReader, KeepsEmptyLinesAndAnUnfinishedLast) {
  EXPECT_THAT(lines_of({"\n\r\na\n\nb"}), ElementsAre("", "", "a", "", "b"));
  EXPECT_THAT(lines_of({}), ElementsAre());
}

TEST(LineReader, RefusesALineOverTheLimit) {
  net::VirtualExecutor executor;
  EXPECT_TRUE(executor.run(all_lines({"1234\n", "12", "34"}, 4)).has_value());
  for (const std::vector<std::string>& pieces :
       {std::vector<std::string>{"12345\n"}, {"123", "45"}, {"1\n", "123456789"}}) {
    const auto lines = executor.run(all_lines(pieces, 4));
    ASSERT_FALSE(lines.has_value());
    EXPECT_EQ(lines.error().code(), Code::kTooLarge);
  }
}

TEST(LineReader, GivesTheSameLinesHoweverTheBodyIsCut) {
  EXPECT_TRUE(rc::check("cutting changes nothing", [] {
    const auto text = *rc::gen::container<std::string>(rc::gen::element('a', 'b', '\n', '\r'));
    std::vector<std::string> single;
    for (const char c : text) single.emplace_back(1, c);
    const std::vector<std::string> whole =
        text.empty() ? std::vector<std::string>{} : std::vector<std::string>{text};
    RC_ASSERT(lines_of(single) == lines_of(whole));
  }));
}

}  // namespace
}  // namespace mainspring::http
