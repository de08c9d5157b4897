#include "kube_apply.h"

#include <fmt/format.h>

#include <chrono>
#include <sstream>

#include "kube/core_objects.h"
#include "net/task_group.h"
#include "net/tls.h"

namespace mainspring::bench {
namespace {

using net::Task;

constexpr int kInFlight = 32;
// Requests that a connection of the raw client has sent ahead of the answers: the server, which
// works on one at a time, never waits for the next.
constexpr std::size_t kAhead = 2;
constexpr std::string_view kNamespace = "default";

json::Value config_map(const std::string& name, int i) {
  json::Value object;
  object["apiVersion"] = "v1";
  object["kind"] = "ConfigMap";
  object["metadata"]["name"] = name + "-" + std::to_string(i);
  object["metadata"]["namespace"] = kNamespace;
  object["metadata"]["labels"]["app.kubernetes.io/part-of"] = "bench";
  for (int line = 0; line < 10; ++line) {
    object["data"]["part-" + std::to_string(line)] = std::string(80, 'x') + std::to_string(i);
  }
  return object;
}

Task<Result<void>> apply_some(kube::Api<kube::ConfigMap> api, const std::string* name, int* next,
                              int count) {
  while (*next < count) {
    const int i = (*next)++;
    MS_CO_CHECK(co_await api.apply(config_map(*name, i)));
  }
  co_return Result<void>();
}

Task<Result<void>> apply_all(Process* process, const std::string* name, int count) {
  net::TaskGroup group(process->loop);
  const kube::Api<kube::ConfigMap> api(process->client, std::string(kNamespace));
  int next = 0;
  for (int lane = 0; lane < kInFlight; ++lane) group.spawn(apply_some(api, name, &next, count));
  co_return co_await group.join();
}

std::vector<std::string> make_requests(const kube::Config& config, const std::string& name,
                                       int count) {
  std::vector<std::string> requests;
  requests.reserve(static_cast<std::size_t>(count));
  for (int i = 0; i < count; ++i) {
    const std::string body = json::to_text(config_map(name, i));
    requests.push_back(fmt::format(
        "PATCH /api/v1/namespaces/{}/configmaps/{}-{}?fieldManager=mainspring&force=true HTTP/1.1"
        "\r\nHost: {}\r\nAccept: application/json\r\nContent-Type: application/apply-patch+yaml"
        "\r\nContent-Length: {}\r\n\r\n{}",
        kNamespace, name, i, config.server.authority(), body.size(), body));
  }
  return requests;
}

std::string text_of(const kube::Pem& pem) {
  if (pem.file.empty()) return pem.text.reveal();
  std::ostringstream text;
  text << std::ifstream(pem.file).rdbuf();
  return text.str();
}

// A connection and the answers on it, which must have a Content-Length.
struct RawConnection {
  std::unique_ptr<net::Stream> stream;
  std::string buffer;

  // Takes one answer off the stream.
  Task<Result<void>> read_answer() {
    std::optional<std::size_t> size;
    while (!(size = answer_size()) || buffer.size() < *size) {
      const std::size_t had = buffer.size();
      buffer.resize(had + 16'384);
      MS_CO_TRY(const std::size_t count,
                co_await stream->read_some(std::span<char>(buffer).subspan(had)));
      if (count == 0) co_return fail(Code::kTransient, "the API server closed a connection");
      buffer.resize(had + count);
    }
    if (!buffer.starts_with("HTTP/1.1 20")) {
      co_return fail(Code::kInternal, "the API server answered " + buffer.substr(0, *size));
    }
    buffer.erase(0, *size);
    co_return Result<void>();
  }

  // Of the first answer in the buffer, once its head is there.
  std::optional<std::size_t> answer_size() const {
    static constexpr std::string_view kLength = "\r\nContent-Length: ";
    const std::size_t end = buffer.find("\r\n\r\n");
    if (end == std::string::npos) return std::nullopt;
    const std::size_t at = buffer.find(kLength);
    if (at > end) {
      std::fprintf(stderr, "kube_client: an answer without Content-Length\n");
      std::exit(1);
    }
    return end + 4 + std::strtoul(buffer.c_str() + at + kLength.size(), nullptr, 10);
  }
};

Task<Result<RawConnection>> connect(Process* process, std::shared_ptr<net::TlsSource> tls) {
  const http::Url& server = process->config.server;
  net::ConnectOptions options;
  options.tls = std::move(tls);
  MS_CO_TRY(auto stream, co_await process->network.connect(
                             net::Endpoint::tcp(server.host, server.effective_port()), options));
  co_return RawConnection{std::move(stream), {}};
}

Task<Result<void>> send_some(RawConnection* connection, const std::vector<std::string>* requests,
                             std::size_t* next) {
  std::size_t waiting = 0;
  while (*next < requests->size() || waiting > 0) {
    if (*next < requests->size() && waiting < kAhead) {
      const std::string& request = (*requests)[(*next)++];
      MS_CO_CHECK(co_await connection->stream->write(request));
      ++waiting;
    } else {
      MS_CO_CHECK(co_await connection->read_answer());
      --waiting;
    }
  }
  co_return Result<void>();
}

Task<Result<void>> send_all(net::EventLoop* loop, std::vector<RawConnection>* connections,
                            const std::vector<std::string>* requests) {
  net::TaskGroup group(*loop);
  std::size_t next = 0;
  for (RawConnection& connection : *connections) {
    group.spawn(send_some(&connection, requests, &next));
  }
  co_return co_await group.join();
}

double seconds_for(Process& process, Task<Result<void>> task) {
  const auto start = std::chrono::steady_clock::now();
  must(process.loop.run(std::move(task)));
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

double raw_seconds(Process& process, int count, const std::string& name) {
  const kube::Config& config = process.config;
  net::TlsClientOptions options;
  options.ca_pem = text_of(config.ca);
  options.cert_pem = text_of(config.client_cert);
  options.key_pem = text_of(config.client_key);
  const std::shared_ptr<net::TlsSource> tls = must(net::TlsContext::client(options));
  std::vector<RawConnection> connections;
  connections.reserve(kInFlight);
  for (int i = 0; i < kInFlight; ++i) {
    connections.push_back(must(process.loop.run(connect(&process, tls))));
  }
  const std::vector<std::string> requests = make_requests(config, name, count);
  return seconds_for(process, send_all(&process.loop, &connections, &requests));
}

// Connections, as many as the pool keeps, are made before the clock runs: the raw client's are,
// too.
double api_seconds(Process& process, int count, const std::string& name) {
  const std::string first = name + "-first";
  must(process.loop.run(apply_all(&process, &first, kInFlight)));
  return seconds_for(process, apply_all(&process, &name, count));
}

}  // namespace

void apply_config_maps(Process& process, bool raw, int count, const std::string& name) {
  const double cpu_before = cpu_seconds();
  const double time = raw ? raw_seconds(process, count, name) : api_seconds(process, count, name);
  json::Value line;
  line["rate"] = count / time;
  line["cpu"] = cpu_seconds() - cpu_before;
  print_line(line);
}

}  // namespace mainspring::bench
