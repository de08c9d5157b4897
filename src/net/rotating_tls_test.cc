#include "net/rotating_tls.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>

#include "net/certs_testing.h"
#include "net/descriptors_testing.h"

namespace mainspring::net {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;
using ::testing::Not;

// A folder as the kubelet mounts a Secret: files are links into ..data, which is itself a link that
// is replaced in one step.
class RotatingFiles : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "mainspring-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
    write_version(ca.issue_local());
    for (const char* file : {"tls.crt", "tls.key", "ca.crt"}) {
      fs::create_symlink(fs::path("..data") / file, folder / file);
    }
  }
  void TearDown() override { fs::remove_all(folder); }

  static void write(const fs::path& path, const std::string& text) { std::ofstream(path) << text; }

  void write_version(const TestCert& cert) {
    const std::string version = "..v" + std::to_string(++versions);
    fs::create_directory(folder / version);
    write(folder / version / "tls.crt", cert.cert_pem);
    write(folder / version / "tls.key", cert.key_pem);
    write(folder / version / "ca.crt", ca.cert_pem());
    fs::create_symlink(version, folder / "..data_tmp");
    fs::rename(folder / "..data_tmp", folder / "..data");
  }

  RotatingTls::Options options() const {
    RotatingTls::Options result;
    result.files = {folder / "ca.crt", folder / "tls.crt", folder / "tls.key"};
    result.clock = &clock;
    result.log = Logger(Logger::Options{.clock = &clock, .sink = lines});
    return result;
  }

  std::shared_ptr<RotatingTls> server() {
    auto made = RotatingTls::server(options(), {});
    EXPECT_TRUE(made.has_value()) << made.error().to_string();
    return *made;
  }

  ManualClock clock;
  const std::shared_ptr<MemoryLogSink> lines = std::make_shared<MemoryLogSink>();
  TestCa ca;
  fs::path folder;
  int versions = 0;
};

TEST_F(RotatingFiles, NewFilesAreTakenOverAfterTheInterval) {
  auto tls = server();
  const auto first = tls->current();
  write_version(ca.issue_local());
  EXPECT_EQ(tls->current(), first);  // Too early to look.
  clock.advance(seconds(11));
  const auto second = tls->current();
  EXPECT_NE(second, first);
  EXPECT_EQ(tls->rotations(), 1);
  EXPECT_FALSE(tls->problem().has_value());
}

TEST_F(RotatingFiles, UnchangedFilesAreNotReadAgain) {
  auto tls = server();
  const auto first = tls->current();
  clock.advance(hours(1));
  EXPECT_EQ(tls->current(), first);
  EXPECT_EQ(tls->rotations(), 0);
}

TEST_F(RotatingFiles, AKeyThatDoesNotFitKeepsTheOldOnesUntilItDoes) {
  auto tls = server();
  const auto first = tls->current();
  write_version({ca.issue_local().cert_pem, ca.issue_local().key_pem});
  clock.advance(seconds(11));
  EXPECT_EQ(tls->current(), first);
  ASSERT_TRUE(tls->problem().has_value());
  EXPECT_THAT(tls->problem()->to_string(),
              HasSubstr("new certificate files are not used: private key: it does not belong"));

  write_version(ca.issue_local());
  clock.advance(seconds(11));
  EXPECT_NE(tls->current(), first);
  EXPECT_FALSE(tls->problem().has_value());
}

TEST_F(RotatingFiles, FilesThatCannotBeUsedAreAnnouncedOnce) {
  Metrics metrics;
  RotatingTls::Options watched = options();
  watched.metrics = &metrics;
  const auto tls = RotatingTls::server(watched, {}).value();
  const auto refused = [&] { return metrics.to_text().find("tls.crt\"} 1") != std::string::npos; };
  const TestCert odd{ca.issue_local().cert_pem, ca.issue_local().key_pem};
  write_version(odd);
  EXPECT_FALSE(refused());
  for (int i = 0; i < 3; ++i) tls->check();
  EXPECT_TRUE(refused()) << metrics.to_text();
  ASSERT_EQ(lines->lines().size(), 1U);
  EXPECT_THAT(lines->lines().front(), HasSubstr("certificate files cannot be used"));
  EXPECT_THAT(lines->lines().front(), HasSubstr("it does not belong"));
  EXPECT_THAT(lines->lines().front(), Not(HasSubstr("PRIVATE KEY")));

  write_version(ca.issue_local());
  tls->check();
  EXPECT_FALSE(refused());
  EXPECT_EQ(lines->lines().size(), 1U);
}

TEST_F(RotatingFiles, AMissingOrEmptyFileKeepsTheOldOnes) {
  auto tls = server();
  const auto first = tls->current();
  fs::remove(folder / "tls.key");
  tls->check();
  EXPECT_EQ(tls->current(), first);
  EXPECT_THAT(tls->problem()->to_string(), HasSubstr("tls.key: no such file or directory"));
  write(folder / "tls.key", "");
  tls->check();
  EXPECT_EQ(tls->current(), first);
  EXPECT_THAT(tls->problem()->to_string(), HasSubstr("tls.key is empty"));
}

TEST_F(RotatingFiles, FilesThatCouldNotBeOpenedAreTriedAgainAndAnnouncedOnce) {
  const auto tls = server();
  const auto first = tls->current();
  write_version(ca.issue_local());
  {
    const NoDescriptorsLeft shortage;
    for (int i = 0; i < 3; ++i) tls->check();
  }
  EXPECT_EQ(tls->current(), first);
  ASSERT_TRUE(tls->problem().has_value());
  EXPECT_THAT(tls->problem()->to_string(), HasSubstr("too many open files"));
  EXPECT_EQ(lines->lines().size(), 1U);

  clock.advance(seconds(11));
  EXPECT_NE(tls->current(), first);
  EXPECT_FALSE(tls->problem().has_value());
  EXPECT_EQ(tls->rotations(), 1);
  EXPECT_EQ(lines->lines().size(), 1U);
}

TEST_F(RotatingFiles, AnotherReasonIsAnnouncedToo) {
  const auto tls = server();
  write_version({ca.issue_local().cert_pem, ca.issue_local().key_pem});
  {
    const NoDescriptorsLeft shortage;
    tls->check();
  }
  for (int i = 0; i < 2; ++i) tls->check();
  ASSERT_EQ(lines->lines().size(), 2U);
  EXPECT_THAT(lines->lines().front(), HasSubstr("too many open files"));
  EXPECT_THAT(lines->lines().back(), HasSubstr("it does not belong"));
}

TEST_F(RotatingFiles, AFileThatComesBackAsItWasIsNoProblemAnyMore) {
  auto tls = server();
  fs::rename(folder / "tls.key", folder / "elsewhere");
  tls->check();
  EXPECT_TRUE(tls->problem().has_value());
  fs::rename(folder / "elsewhere", folder / "tls.key");
  tls->check();
  EXPECT_FALSE(tls->problem().has_value());
}

TEST_F(RotatingFiles, BadFilesAtTheStartAreAnError) {
  write(folder / "..data" / "tls.crt", "nonsense");
  auto made = RotatingTls::server(options(), {});
  ASSERT_FALSE(made.has_value());
  EXPECT_EQ(made.error().code(), Code::kInvalid);
}

TEST_F(RotatingFiles, AClientsAuthoritiesRotateToo) {
  auto made = RotatingTls::client(options(), {});
  ASSERT_TRUE(made.has_value()) << made.error().to_string();
  const auto first = (*made)->current();
  ca = TestCa("the next authority");
  write_version(ca.issue_local());
  (*made)->check();
  EXPECT_NE((*made)->current(), first);
}

}  // namespace
}  // namespace mainspring::net
