// slurm/record_versions_test.cc
#include "slurm/record_versions.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "slurm/accounting.h"
#include "slurm/job.h"
#include "slurm/node.h"
#include "slurm/openapi_testing.h"
#include "slurm/partition.h"
#include "slurm/reservation.h"
#include "slurm/resources.h"

namespace mainspring::slurm {
namespace {

using json::Value;

// The fields that a table reads, as paths into the answer: "default.qos", "gres[].name".
template <class Table>
void collect(const std::string& prefix, std::set<std::string>& out);

template <class T>
struct Element {
  using Type = T;
  static constexpr const char* kSuffix = "";
};
template <class T>
struct Element<std::vector<T>> {
  using Type = T;
  static constexpr const char* kSuffix = "[]";
};
template <class>
struct MemberOf;
template <class T, class C>
struct MemberOf<T C::*> {
  using Type = T;
};

template <class Table, std::size_t I>
void collect_entry(const std::string& prefix, std::set<std::string>& out) {
  constexpr const auto& access = Table::get().template access<I>();
  using Access = std::remove_cvref_t<decltype(access)>;
  const std::string path = prefix + std::string(Table::get().template name<I>());
  if constexpr (std::is_member_object_pointer_v<Access>) {
    using Member = Element<typename MemberOf<Access>::Type>;
    out.insert(path);
    if constexpr (json::Projected<typename Member::Type>) {
      collect<json::detail::ProjectionTable<typename Member::Type>>(path + Member::kSuffix + ".",
                                                                    out);
    }
  } else if constexpr (requires { Access::kCount; }) {
    collect<json::detail::GroupTable<Table, I>>(path + ".", out);
  } else {
    out.insert(path);
  }
}

template <class Table>
void collect(const std::string& prefix, std::set<std::string>& out) {
  constexpr std::size_t kCount = std::remove_cvref_t<decltype(Table::get())>::kCount;
  [&]<std::size_t... I>(std::index_sequence<I...>) {
    (collect_entry<Table, I>(prefix, out), ...);
  }(std::make_index_sequence<kCount>());
}

template <class T>
std::set<std::string> fields_of() {
  std::set<std::string> out;
  collect<json::detail::ProjectionTable<T>>("", out);
  return out;
}

struct Record {
  std::string name, room, endpoint, where;
  std::set<std::string> fields;
};

const std::vector<Record>& records() {
  static const std::vector<Record> kRecords = {
      {"Node", "slurm", "nodes", "nodes[]", fields_of<Node>()},
      {"Job", "slurm", "jobs", "jobs[]", fields_of<Job>()},
      {"Partition", "slurm", "partitions", "partitions[]", fields_of<Partition>()},
      {"Reservation", "slurm", "reservations", "reservations[]", fields_of<Reservation>()},
      {"Ping", "slurm", "ping", "pings[]", fields_of<Ping>()},
      {"Diag", "slurm", "diag", "statistics", fields_of<Diag>()},
      {"License", "slurm", "licenses", "licenses[]", fields_of<License>()},
      {"Share", "slurm", "shares", "shares.shares[]", fields_of<Share>()},
      {"NodeAllocation", "slurm", "resources/{job_id}", "nodes[]", fields_of<NodeAllocation>()},
      {"ClusterConf", "slurm", "conf", "slurm_conf", fields_of<ClusterConf>()},
      {"Account", "slurmdb", "accounts", "accounts[]", fields_of<Account>()},
      {"User", "slurmdb", "users", "users[]", fields_of<User>()},
      {"Association", "slurmdb", "associations", "associations[]", fields_of<Association>()},
      {"Qos", "slurmdb", "qos", "qos[]", fields_of<Qos>()},
      {"TresRecord", "slurmdb", "tres", "TRES[]", fields_of<TresRecord>()},
      {"Cluster", "slurmdb", "clusters", "clusters[]", fields_of<Cluster>()},
      {"Wckey", "slurmdb", "wckeys", "wckeys[]", fields_of<Wckey>()},
      {"Instance", "slurmdb", "instances", "instances[]", fields_of<Instance>()},
      {"DbJob", "slurmdb", "jobs", "jobs[]", fields_of<DbJob>()},
      {"DbConf", "slurmdb", "conf", "slurmdbd_conf", fields_of<DbConf>()},
      {"DbDiag", "slurmdb", "diag", "statistics", fields_of<DbDiag>()},
  };
  return kRecords;
}

TEST(RecordVersions, EveryFieldWeReadIsInEveryVersionThatTheTableSaysHasIt) {
  for (const auto& [name, document] : documents()) {
    SCOPED_TRACE(name);
    const OpenApi openapi(document.first, document.second);
    for (const Record& record : records()) {
      const Value* schema = openapi.answer(record.room, record.endpoint, record.where);
      if (schema == nullptr) {
        // The endpoint is missing, which versions.cc knows; the newest version has all.
        EXPECT_NE(document.second, Version::k45) << record.name;
        continue;
      }
      for (const std::string& field : record.fields) {
        EXPECT_EQ(openapi.at(schema, field) != nullptr,
                  has_field(document.second, record.name, field))
            << record.name << "." << field;
      }
    }
  }
}

TEST(RecordVersions, NamesOnlyFieldsThatWeRead) {
  for (const FieldSince& entry : fields_since()) {
    bool found = false;
    for (const Record& record : records()) {
      if (record.name == entry.record) found = record.fields.contains(std::string(entry.field));
    }
    EXPECT_TRUE(found) << entry.record << "." << entry.field;
    EXPECT_GT(entry.since, Version::k42) << entry.field;
  }
}

template <class State, class Known>
void expect_names_known(const OpenApi& openapi, const Value* schema, Known known) {
  ASSERT_NE(schema, nullptr);
  const Value* items = openapi.at(schema, "[]");
  ASSERT_NE(items, nullptr);
  for (const Value& name : *items->find("enum")) {
    State state;
    state.add_name(*name.as_string());
    EXPECT_TRUE(known(state)) << *name.as_string();
    EXPECT_THAT(state.names(), testing::ElementsAre(*name.as_string()));
  }
}

TEST(RecordVersions, EveryStateOfEveryVersionIsKnownByName) {
  for (const auto& [name, document] : documents()) {
    SCOPED_TRACE(name);
    const OpenApi openapi(document.first, document.second);
    expect_names_known<NodeState>(
        openapi, openapi.answer("slurm", "nodes", "nodes[].state"),
        [](const NodeState& state) { return !state.has(NodeState::Flag::kOther); });
    expect_names_known<JobState>(
        openapi, openapi.answer("slurm", "jobs", "jobs[].job_state"),
        [](const JobState& state) { return !state.has(JobState::Flag::kOther); });
  }
}

}  // namespace
}  // namespace mainspring::slurm
