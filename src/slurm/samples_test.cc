// slurm/samples_test.cc
//
// Every call that was recorded from Slurm 26.05 and 24.11, all in one sweep: its answer is judged
// as it should be (verdicts.txt, one line a call), its records are all read, and what is parsed and
// written again is the same. The single facts of some of them are in records_test.cc.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <functional>
#include <iterator>
#include <map>
#include <optional>
#include <sstream>
#include <string>
#include <string_view>
#include <vector>

#include "base/text.h"
#include "http/gzip.h"
#include "json/value.h"
#include "slurm/accounting.h"
#include "slurm/controller.h"
#include "slurm/errors.h"
#include "slurm/job.h"
#include "slurm/job_pulse.h"
#include "slurm/node.h"
#include "slurm/partition.h"
#include "slurm/reservation.h"
#include "slurm/resources.h"

namespace mainspring::slurm {
namespace {

using json::Value;

struct Sample {
  std::string name, method, path, answer;  // The name with the release: "26.05 ping".
  int status = 0;
};

std::string text_of(const Value& object, std::string_view key) {
  return std::string(object.find(key)->as_string().value_or(""));
}

std::vector<Sample> samples() {
  std::ifstream file(MAINSPRING_TEST_DATA "/slurm-rest/samples.jsonl.gz", std::ios::binary);
  const std::string bytes{std::istreambuf_iterator<char>(file), {}};
  const auto lines = http::gzip_decompress(bytes, std::size_t{8} << 20);
  EXPECT_TRUE(lines);
  std::vector<Sample> all;
  if (!lines) return all;
  for (const std::string_view line : split(*lines, '\n')) {
    if (line.empty()) continue;
    const auto one = json::parse(line);
    EXPECT_TRUE(one) << line.substr(0, 80);
    all.push_back({text_of(*one, "release") + " " + text_of(*one, "name"), text_of(*one, "method"),
                   text_of(*one, "path"), text_of(*one, "answer"),
                   static_cast<int>(one->find("status")->as_int().value_or(0))});
  }
  return all;
}

// How many segments of the pattern are met literally; nullopt where it is not met.
std::optional<int> match(std::string_view pattern, std::string_view path) {
  const auto wanted = split(pattern, '/');
  const auto have = split(path.ends_with('/') ? path.substr(0, path.size() - 1) : path, '/');
  if (wanted.size() != have.size()) return std::nullopt;
  int literal = 0;
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i].starts_with('{')) continue;
    if (wanted[i] != have[i]) return std::nullopt;
    ++literal;
  }
  return literal;
}

// Nullopt for a path that is none, and for /util, which we do not ask.
std::optional<Endpoint> endpoint_of(const Sample& sample) {
  const std::string_view path = std::string_view(sample.path).substr(0, sample.path.find('?'));
  std::optional<Endpoint> best;
  int most = -1;
  for (const EndpointInfo& one : all_endpoints()) {
    if (http::to_string(one.method) != sample.method) continue;
    const std::string_view pattern =
        one.path.ends_with('/') ? one.path.substr(0, one.path.size() - 1) : one.path;
    const auto literal = match(pattern, path);
    if (literal.value_or(-1) > most) {
      most = *literal;
      best = one.endpoint;
    }
  }
  return best;
}

// "ok", or the code and Slurm's number: "not_found 2017".
std::string verdict(Endpoint endpoint, const Sample& sample) {
  json::Reader reader;
  const auto judged =
      judge(endpoint, sample.status, envelope_of(reader, sample.answer), sample.answer);
  if (judged) return "ok";
  const SlurmError* const error = slurm_error(judged.error());
  return std::string(to_string(judged.error().code())) +
         (error == nullptr ? "" : " " + std::to_string(static_cast<int>(error->number)));
}

std::map<std::string, std::string> expected_verdicts() {
  std::ifstream file(MAINSPRING_TEST_DATA "/slurm-rest/verdicts.txt");
  std::map<std::string, std::string> all;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    all.emplace(line.substr(0, colon), line.substr(colon + 2));
  }
  return all;
}

TEST(Samples, AreJudgedAsTheyShouldBe) {
  const auto expected = expected_verdicts();
  std::size_t judged = 0;
  for (const Sample& sample : samples()) {
    const auto endpoint = endpoint_of(sample);
    if (!endpoint) continue;
    ++judged;
    const auto it = expected.find(sample.name);
    const std::string said = verdict(*endpoint, sample);
    if (it == expected.end()) {
      ADD_FAILURE() << "nobody has said what is right for\n" << sample.name << ": " << said;
    } else {
      EXPECT_EQ(said, it->second) << sample.name << "\n" << sample.answer;
    }
  }
  EXPECT_EQ(judged, expected.size());
}

TEST(Samples, AreTheSameWhenWrittenAgain) {
  std::size_t read = 0;
  for (const Sample& sample : samples()) {
    const auto once = json::parse(sample.answer);
    if (!once) {
      EXPECT_TRUE(sample.status == 304 || sample.status == 404) << sample.name;
      continue;
    }
    ++read;
    const auto twice = json::parse(json::to_text(*once));
    ASSERT_TRUE(twice) << sample.name;
    EXPECT_EQ(*twice, *once) << sample.name;
  }
  EXPECT_GT(read, 130);
}

template <class T>
Result<std::vector<T>> decoded(const Value& list) {
  json::Reader reader;
  reader.open(json::to_text(list));
  std::vector<T> out;
  read(reader, out);
  MS_CHECK(reader.finish());
  return out;
}

// Every record of the list becomes one, and with the name that stands in it where it has a key.
template <class T>
void expect_records(const Value& list, std::string_view key) {
  const auto records = decoded<T>(list);
  ASSERT_TRUE(records) << records.error().to_string();
  ASSERT_EQ(records->size(), list.size());
  if constexpr (requires(const T& one) { one.key(); }) {
    for (std::size_t i = 0; i < records->size(); ++i) {
      const Value& name = *list.at(i).find(key);
      EXPECT_EQ((*records)[i].key().name,
                name.is_string() ? *name.as_string() : json::to_text(name));
    }
  }
}

struct Kind {
  std::string_view room, list;
  void (*expect)(const Value& list, std::string_view key);
  std::string_view key;
};
constexpr Kind kKinds[] = {
    {"slurm", "nodes", expect_records<Node>, "name"},
    {"slurm", "jobs", expect_records<Job>, "job_id"},
    {"slurm", "partitions", expect_records<Partition>, "name"},
    {"slurm", "reservations", expect_records<Reservation>, "name"},
    {"slurm", "licenses", expect_records<License>, ""},
    {"slurm", "pings", expect_records<Ping>, ""},
    {"slurmdb", "jobs", expect_records<DbJob>, ""},
    {"slurmdb", "users", expect_records<User>, ""},
    {"slurmdb", "associations", expect_records<Association>, ""},
    {"slurmdb", "qos", expect_records<Qos>, ""},
    {"slurmdb", "clusters", expect_records<Cluster>, ""},
    {"slurmdb", "instances", expect_records<Instance>, ""},
    {"slurmdb", "TRES", expect_records<TresRecord>, ""},
};

TEST(Samples, BecomeRecordsWithoutLoss) {
  std::map<std::string, int> seen;
  for (const Sample& sample : samples()) {
    const auto endpoint = endpoint_of(sample);
    if (!endpoint || sample.status != 200 || sample.method != "GET") continue;
    // Of these the lists have other records under the same names.
    if (*endpoint == Endpoint::kGetResources || *endpoint == Endpoint::kRequeueJob) continue;
    const auto parsed = json::parse(sample.answer);
    ASSERT_TRUE(parsed) << sample.name;
    const std::string_view room = split(sample.path, '/')[1];
    for (const Kind& kind : kKinds) {
      const Value* const list = parsed->find(kind.list);
      if (list == nullptr || kind.room != room) continue;
      SCOPED_TRACE(sample.name);
      ++seen[std::string(kind.room) + " " + std::string(kind.list)];
      if (*endpoint == Endpoint::kJobStates) {
        EXPECT_EQ(decoded<JobPulse>(*list).value_or(std::vector<JobPulse>()).size(), list->size());
      } else {
        kind.expect(*list, kind.key);
      }
    }
  }
  EXPECT_EQ(seen.size(), std::size(kKinds)) << "each kind is in some sample";
}

}  // namespace
}  // namespace mainspring::slurm
