// slurm/api_testing.h
//
// For the tests of the typed verbs: a client before a scripted slurmrestd, which answers with what
// a real one answered, and the requests that the real one was sent, to compare ours with.
#pragma once

#include <gtest/gtest.h>

#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "json/value.h"
#include "net/virtual_executor.h"
#include "slurm/client.h"
#include "slurm/scripted_transport.h"

namespace mainspring::slurm {

inline std::string recorded(const std::string& name) {
  std::ifstream file(std::string(MAINSPRING_TEST_DATA) + "/slurm/rest/" + name + ".json");
  EXPECT_TRUE(file) << name;
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

class ApiTest : public ::testing::Test {
 protected:
  static constexpr const char* kDone = R"({"errors":[],"warnings":[]})";

  void speak(Version version) { version_ = version; }
  Client& client() {
    if (!client_) {
      Client::Options options;
      options.server = *http::Url::parse("http://127.0.0.1:6820");
      options.version = version_;
      client_.emplace(transport_, executor_, random_, governor_, std::move(options));
    }
    return *client_;
  }

  // What a real slurmrestd said.
  void answer_as(const std::string& name, int status = 200) {
    transport_.add(status, recorded(name + ".res"));
  }
  void answer(std::string body = kDone, int status = 200) {
    transport_.add(status, std::move(body));
  }

  template <class T>
  Result<T> run(Task<Result<T>> task) {
    return executor_.run(std::move(task));
  }

  // "GET /slurm/v0.0.45/node/node1?..." of request `index`.
  std::string asked(std::size_t index = 0) const {
    if (index >= transport_.asked.size()) return "nothing";
    const http::Request& request = transport_.asked[index];
    return std::string(http::to_string(request.method)) + " " + request.url.target();
  }
  json::Value body(std::size_t index = 0) const {
    if (index >= transport_.asked.size()) return {};
    return json::parse(transport_.asked[index].body).value_or(json::Value());
  }
  std::string header(std::string_view name, std::size_t index = 0) const {
    return std::string(transport_.asked.at(index).headers.get(name).value_or(""));
  }
  // That request `index` is the one that was recorded under `name`.
  void expect_asked_as(const std::string& name, std::size_t index = 0) const {
    const auto request = json::parse(recorded(name + ".req"));
    ASSERT_TRUE(request) << request.error().to_string();
    EXPECT_EQ(asked(index), std::string(*request->find("method")->as_string()) + " " +
                                std::string(*request->find("path")->as_string()));
    const json::Value* sent = request->find("body");
    if (sent == nullptr) return;
    EXPECT_EQ(body(index), *sent) << json::to_text(body(index)) << "\n" << json::to_text(*sent);
  }

  net::VirtualExecutor executor_;
  Random random_{1};
  ScriptedTransport transport_;
  Governor governor_{executor_, random_, {}};
  Version version_ = Version::k45;
  std::optional<Client> client_;
};

template <class T>
std::string why(const Result<T>& result) {
  return result ? std::string("ok") : result.error().to_string();
}
template <class T>
std::optional<Code> code_of(const Result<T>& result) {
  return result ? std::nullopt : std::optional(result.error().code());
}

}  // namespace mainspring::slurm
