// Whatever a server and the way to it do, the store is like the server once they behave, and every
// handler has been told a story without gaps.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <rapidcheck.h>

#include <algorithm>
#include <map>
#include <vector>

#include "base/seeds_testing.h"
#include "control/reflector.h"
#include "net/notify.h"
#include "net/task_group.h"
#include "net/virtual_executor.h"

namespace mainspring::control {
namespace {

struct Gear {
  inline static const kube::Resource kResource{"", "v1", "gears", "Gear", true};
  kube::Meta meta;
  std::int64_t teeth = 0;
  bool operator==(const Gear&) const = default;
};
constexpr auto json_fields(json::Tag<Gear>) {
  return json::fields(json::field("metadata", &Gear::meta),
                      json::group("spec", json::field("teeth", &Gear::teeth)));
}

struct Row {
  int version = 0;
  int teeth = 0;
  bool operator==(const Row&) const = default;
};
using Rows = std::map<std::string, Row>;

std::string to_json(const std::string& name, Row row) {
  return fmt::format(
      R"({{"metadata":{{"name":"{}","namespace":"n","resourceVersion":"{}"}},"spec":{{"teeth":{}}}}})",
      name, row.version, row.teeth);
}
std::string event_line(std::string_view type, std::string_view object) {
  return fmt::format("{{\"type\":\"{}\",\"object\":{}}}\n", type, object);
}
std::string bookmark_line(int version, bool initial_end) {
  return event_line(
      "BOOKMARK",
      fmt::format(R"({{"metadata":{{"resourceVersion":"{}"{}}}}})", version,
                  initial_end ? R"(,"annotations":{"k8s.io/initial-events-end":"true"})" : ""));
}
std::string status_body(int code, std::string_view reason, std::string_view cause = "") {
  return fmt::format(
      R"({{"kind":"Status","status":"Failure","reason":"{}","message":"no","code":{},"details":{{"causes":[{{"reason":"{}"}}]}}}})",
      reason, code, cause);
}

// What the server may do to its clients, apart from serving them.
struct Traits {
  bool streams = true;    // Knows sendInitialEvents.
  bool bookmarks = true;  // Sends them when there is something new.
  unsigned trouble = 0;   // Chance of each fault, in percent.
};

class Server final : public http::Transport {
 public:
  Server(Random& random, Traits traits) : random_(random), traits_(traits) {}

  void put(const std::string& name, int teeth) {
    const bool is_new = !rows_.contains(name);
    rows_[name] = {++version_, teeth};
    record(is_new ? "ADDED" : "MODIFIED", name, rows_[name]);
  }
  void remove(const std::string& name) {
    const auto it = rows_.find(name);
    if (it == rows_.end()) return;
    record("DELETED", name, {++version_, it->second.teeth});
    rows_.erase(it);
  }
  void bookmark() {
    for (auto& [id, position] : watches_) position.bookmark_due = traits_.bookmarks;
    changed_.notify_all();
  }
  // Forgets all history and every list in progress.
  void compact() {
    oldest_ = version_;
    history_.clear();
    snapshots_.clear();
  }
  // All watches end, in good order or not.
  void end_watches(bool in_order) {
    for (auto& [id, position] : watches_) {
      position.ended = in_order;
      position.dropped = !in_order;
    }
    changed_.notify_all();
  }
  // A network that swallows everything: watches of now hear nothing more.
  void silence() {
    for (auto& [id, position] : watches_) position.deaf = true;
  }
  void behave() { traits_.trouble = 0; }
  const Rows& rows() const { return rows_; }

  net::Task<Result<http::Response>> send(http::Request request) override {
    if (happens()) co_return fail(Code::kTransient, "connection refused");
    if (happens()) co_return http::json_response(500, status_body(500, "InternalError"));
    if (happens()) co_return http::json_response(403, status_body(403, "Forbidden"));
    std::string body;
    if (!list(request, body)) co_return http::json_response(410, status_body(410, "Expired"));
    if (happens()) body.resize(body.size() / 2);
    co_return http::json_response(200, std::move(body));
  }

  net::Task<Result<std::unique_ptr<http::StreamingResponse>>> open(http::Request request) override {
    if (happens()) co_return fail(Code::kTransient, "connection refused");
    Watch watch;
    if (happens()) {
      co_return respond(503, std::move(watch), status_body(503, "ServiceUnavailable"));
    }
    if (request.url.query_value("sendInitialEvents")) {
      if (!traits_.streams) {
        co_return respond(422, std::move(watch), status_body(422, "Invalid"));
      }
      watch.version = version_;
      co_return respond(200, std::move(watch), initial_lines());
    }
    watch.version = std::stoi(*request.url.query_value("resourceVersion"));
    if (watch.version > version_) {
      const auto body = status_body(504, "Timeout", "ResourceVersionTooLarge");
      co_return respond(504, std::move(watch), body);
    }
    if (watch.version < oldest_) {
      const auto body = status_body(410, "Expired");
      if (random_.below(2) == 0) co_return respond(410, std::move(watch), body);
      watch.ended = true;
      co_return respond(200, std::move(watch), event_line("ERROR", body));
    }
    co_return respond(200, std::move(watch), "");
  }

  net::Task<Result<http::Upgraded>> upgrade(http::Request) override {
    co_return fail(Code::kUnsupported, "no upgrades");
  }

 private:
  struct Event {
    int version;
    std::string line;
  };
  struct Watch {
    int version = 0;  // The last one sent.
    bool bookmark_due = false;
    bool ended = false;
    bool dropped = false;
    bool deaf = false;
  };

  class Body final : public http::StreamingResponse {
   public:
    Body(Server& server, int status, int id, std::string first)
        : server_(server), status_(status), id_(id), pending_(std::move(first)) {}
    ~Body() override { server_.watches_.erase(id_); }
    int status() const override { return status_; }
    const http::Headers& headers() const override { return headers_; }

    net::Task<Result<std::string_view>> next_chunk() override {
      Watch& watch = server_.watches_.at(id_);
      while (true) {
        if (watch.dropped && pending_.empty()) co_return fail(Code::kTransient, "reset");
        if (!watch.deaf && pending_.empty() && !watch.ended) server_.next_lines(watch, pending_);
        if (!watch.deaf && !pending_.empty()) break;
        if (watch.ended) co_return std::string_view();
        MS_CO_CHECK(co_await server_.changed_.wait());
      }
      if (server_.happens()) {
        // The last that is heard is half a line.
        pending_.resize(pending_.size() / 2);
        (server_.random_.below(2) == 0 ? watch.ended : watch.dropped) = true;
      }
      const std::size_t size = 1 + server_.random_.below(pending_.size());
      chunk_ = pending_.substr(0, size);
      pending_.erase(0, size);
      co_return std::string_view(chunk_);
    }

   private:
    Server& server_;
    int status_;
    int id_;
    http::Headers headers_;
    std::string pending_;
    std::string chunk_;
  };

  bool happens() { return random_.below(100) < traits_.trouble; }

  void record(std::string_view type, const std::string& name, Row row) {
    history_.push_back({row.version, event_line(type, to_json(name, row))});
    changed_.notify_all();
  }

  std::unique_ptr<http::StreamingResponse> respond(int status, Watch watch, std::string first) {
    watch.ended = watch.ended || status != 200;
    watches_[++last_id_] = watch;
    return std::make_unique<Body>(*this, status, last_id_, std::move(first));
  }

  // The next event after the watch's position, perhaps twice; a bookmark if one is due.
  void next_lines(Watch& watch, std::string& out) {
    if (watch.version < oldest_) {
      out = event_line("ERROR", status_body(410, "Expired"));
      watch.ended = true;
      return;
    }
    const auto next = std::find_if(history_.begin(), history_.end(), [&](const Event& event) {
      return event.version > watch.version;
    });
    if (next != history_.end()) {
      out = next->line;
      if (happens()) out += next->line;
      // A server that repeats itself from further back, as one with an older view does.
      if (happens() && next != history_.begin()) out = std::prev(next)->line + out;
      watch.version = next->version;
    } else if (std::exchange(watch.bookmark_due, false)) {
      out = bookmark_line(version_, false);
    }
  }

  std::string initial_lines() {
    std::string lines;
    for (const auto& [name, row] : rows_) lines += event_line("ADDED", to_json(name, row));
    if (happens()) return lines;
    return lines + bookmark_line(version_, true);
  }

  // Pages of a snapshot; the token is "version:first name". False: the snapshot is gone.
  bool list(const http::Request& request, std::string& body) {
    int version = version_;
    std::string from;
    if (const auto token = request.url.query_value("continue")) {
      const auto colon = token->find(':');
      version = std::stoi(token->substr(0, colon));
      from = token->substr(colon + 1);
    } else {
      snapshots_[version] = rows_;
    }
    const auto snapshot = snapshots_.find(version);
    if (snapshot == snapshots_.end() || (!from.empty() && happens())) return false;
    std::size_t room = std::stoul(request.url.query_value("limit").value_or("1000"));
    std::string items;
    auto it = snapshot->second.lower_bound(from);
    for (; it != snapshot->second.end() && room > 0; ++it, --room) {
      items += (items.empty() ? "" : ",") + to_json(it->first, it->second);
    }
    const bool more = it != snapshot->second.end();
    body = fmt::format(
        R"({{"kind":"List","metadata":{{"resourceVersion":"{}","continue":"{}"}},"items":[{}]}})",
        version, more ? fmt::format("{}:{}", version, it->first) : "", items);
    return true;
  }

  Random& random_;
  Traits traits_;
  int version_ = 1;
  int oldest_ = 1;
  Rows rows_;
  std::vector<Event> history_;
  std::map<int, Rows> snapshots_;
  std::map<int, Watch> watches_;
  int last_id_ = 0;
  net::Notify changed_;
};

class World {
 public:
  World(std::uint64_t seed, Traits traits) : random_(seed), server_(random_, traits) {
    by_teeth_ = store_.add_index([](const Gear& gear, std::vector<std::string>& values) {
      values.push_back(std::to_string(gear.teeth));
    });
    store_.add_handler([this](const Store<Gear>::Object& before, const Store<Gear>::Object& after) {
      hear(before, after);
    });
  }

  void start() { group_.spawn(reflector_.run()); }

  void act(std::uint16_t op) {
    const std::string name = fmt::format("g{}", op / 16 % 6);
    switch (op % 16) {
      case 0:
      case 1:
        return server_.remove(name);
      case 2:
        return server_.bookmark();
      case 3:
        return server_.compact();
      case 4:  // An API server that starts anew has no history.
        server_.compact();
        return server_.end_watches(op / 16 % 2 == 0);
      case 5:
        return server_.end_watches(op / 16 % 2 == 0);
      case 6:
        return server_.silence();
      case 7:
      case 8:
        return executor_.run_ready();
      case 9:
        return executor_.advance(milliseconds(op / 16));
      case 10:
        return executor_.advance(seconds(op / 16 % 64));
      default:
        return server_.put(name, op / 128 % 3);
    }
  }

  void settle() {
    server_.behave();
    executor_.advance(minutes(30));
  }

  void check() const {
    RC_ASSERT(store_.synced());
    RC_ASSERT(reflector_.synced());
    Rows stored;
    store_.for_each([&](const Store<Gear>::Object& gear) {
      stored[gear->meta.name] = {std::stoi(gear->meta.resource_version),
                                 static_cast<int>(gear->teeth)};
    });
    RC_ASSERT(stored == server_.rows());
    std::map<std::string, int> wanted;
    for (const auto& [name, row] : server_.rows()) wanted[name] = row.teeth;
    RC_ASSERT(heard_ == wanted);
    RC_ASSERT(gaps_ == 0);
    RC_ASSERT(idle_calls_ == 0);
    RC_ASSERT(early_calls_ == 0);
    std::size_t indexed = 0;
    for (const char* teeth : {"0", "1", "2"}) indexed += store_.find(by_teeth_, teeth).size();
    RC_ASSERT(indexed == wanted.size());
  }

 private:
  // Only takes notes: a failed assertion cannot leave the coroutine that this is called from.
  void hear(const Store<Gear>::Object& before, const Store<Gear>::Object& after) {
    const std::string& name = (after ? after : before)->meta.name;
    const auto last = heard_.find(name);
    const bool known = last != heard_.end();
    gaps_ += known != (before != nullptr) || (known && last->second != before->teeth);
    idle_calls_ += before && after && *before == *after;
    early_calls_ += store_.get("n", name) != after;
    if (after) heard_[name] = static_cast<int>(after->teeth);
    if (!after) heard_.erase(name);
  }

  net::VirtualExecutor executor_;
  Random random_;
  Server server_;
  kube::Client client_{
      server_, executor_.clock(), random_, {.server = *http::Url::parse("http://127.0.0.1")}};
  Store<Gear> store_;
  Store<Gear>::IndexId by_teeth_;
  std::map<std::string, int> heard_;
  int gaps_ = 0;         // `before` was not what had been told last.
  int idle_calls_ = 0;   // Nothing had changed.
  int early_calls_ = 0;  // The store was not up to date.
  Reflector<Gear> reflector_{
      kube::Api<Gear>(client_), store_, {.page_size = 2, .streaming_list = true}};
  net::TaskGroup group_{executor_};
};

// Seeds are fixed: a failure here is one that anybody sees again, and RapidCheck's own choice of
// sequences, which differs by run, comes on top.
std::vector<std::uint16_t> random_ops(Random& random) {
  std::vector<std::uint16_t> ops(random.below(80));
  for (auto& op : ops) op = static_cast<std::uint16_t>(random.next());
  return ops;
}

void run_world(const std::vector<std::uint16_t>& ops, std::uint64_t seed) {
  Random random(seed);
  World world(random.next(), {.streams = random.below(3) > 0,
                              .bookmarks = random.below(2) > 0,
                              .trouble = static_cast<unsigned>(random.below(4) * 8)});
  // Half of the worlds have a past when the reflector comes.
  const std::size_t past = random.below(2) * random.below(ops.size() + 1);
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (i == past) world.start();
    world.act(ops[i]);
  }
  if (past >= ops.size()) world.start();
  world.settle();
  world.check();
}

TEST(ReflectorProperty, StoreEqualsServerInTheEndForFixedSeeds) {
  for (std::uint64_t seed = 1; seed <= seeds(300); ++seed) {
    Random random(seed);
    const auto ops = random_ops(random);
    try {
      run_world(ops, seed);
    } catch (const rc::detail::CaseResult& failed) {
      FAIL() << "seed " << seed << ": " << failed.description;
    }
  }
}

TEST(ReflectorProperty, StoreEqualsServerInTheEnd) {
  EXPECT_TRUE(rc::check("store == server", run_world));
}

}  // namespace
}  // namespace mainspring::control
