#include "net/rotating_tls.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>

#include "net/os_error.h"

namespace mainspring::net {
namespace {

// No certificate bundle comes near it; a path that points at something else entirely might.
constexpr std::size_t kMaxFile = std::size_t{4} << 20U;

Result<std::string> read_file(const std::string& path) {
  if (path.empty()) return std::string();
  const int fd = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0) return fail(os_error(errno).with_context("reading " + path));
  std::string text;
  char buffer[16 * 1024];
  ssize_t count = 0;
  while ((count = ::read(fd, buffer, sizeof(buffer))) > 0 && text.size() <= kMaxFile) {
    text.append(buffer, static_cast<std::size_t>(count));
  }
  const int number = errno;
  ::close(fd);
  if (count < 0) return fail(os_error(number).with_context("reading " + path));
  if (text.size() > kMaxFile) return fail(Code::kTooLarge, path + " is larger than 4 MiB");
  // An empty file is not "no file": it is one that is being written, or a mistake.
  if (text.empty()) return fail(Code::kInvalid, path + " is empty");
  return text;
}

// Of what the files hold, so it stays until they change. Anything else may pass by itself: we were
// out of descriptors, or a file was not there yet.
bool is_lasting(const Error& error) {
  return error.code() == Code::kInvalid || error.code() == Code::kTooLarge;
}

std::int64_t nanoseconds_of(const timespec& time) {
  return (seconds(time.tv_sec) + nanoseconds(time.tv_nsec)).count();
}

}  // namespace

Result<std::shared_ptr<RotatingTls>> RotatingTls::client(Options options, TlsClientOptions rules) {
  return make(std::move(options), [rules = std::move(rules)](Contents contents) {
    TlsClientOptions now = rules;
    if (!contents.ca.empty()) now.ca_pem = std::move(contents.ca);
    if (!contents.cert.empty()) now.cert_pem = std::move(contents.cert);
    if (!contents.key.empty()) now.key_pem = std::move(contents.key);
    return TlsContext::client(now);
  });
}

Result<std::shared_ptr<RotatingTls>> RotatingTls::server(Options options, TlsServerOptions rules) {
  return make(std::move(options), [rules = std::move(rules)](Contents contents) {
    TlsServerOptions now = rules;
    if (!contents.ca.empty()) now.client_ca_pem = std::move(contents.ca);
    if (!contents.cert.empty()) now.cert_pem = std::move(contents.cert);
    if (!contents.key.empty()) now.key_pem = std::move(contents.key);
    return TlsContext::server(now);
  });
}

RotatingTls::RotatingTls(Options options, Build build)
    : options_(std::move(options)), build_(std::move(build)) {
  if (options_.metrics == nullptr) return;
  refused_ = options_.metrics->gauge(
      "tls_files_refused", "1 while certificate files cannot be used and older ones are in use.",
      {{"file", name()}});
}

// One file stands for all: they are replaced together.
const std::string& RotatingTls::name() const {
  const TlsFiles& files = options_.files;
  return files.cert.empty() ? files.ca : files.cert;
}

Result<std::shared_ptr<RotatingTls>> RotatingTls::make(Options options, Build build) {
  std::shared_ptr<RotatingTls> made(new RotatingTls(std::move(options), std::move(build)));
  made->seen_ = made->stamps();
  MS_TRY(made->context_, made->load());
  made->next_check_ = made->options_.clock->now() + made->options_.check_every;
  return made;
}

RotatingTls::Stamp RotatingTls::stamp(const std::string& path) {
  struct stat info {};
  if (path.empty() || ::stat(path.c_str(), &info) != 0) return {};
  return {info.st_dev, info.st_ino, info.st_size, nanoseconds_of(info.st_mtim),
          nanoseconds_of(info.st_ctim)};
}

RotatingTls::Stamps RotatingTls::stamps() const {
  return {stamp(options_.files.ca), stamp(options_.files.cert), stamp(options_.files.key)};
}

Result<std::shared_ptr<TlsContext>> RotatingTls::load() const {
  Contents contents;
  MS_TRY(contents.ca, read_file(options_.files.ca));
  MS_TRY(contents.cert, read_file(options_.files.cert));
  MS_TRY(contents.key, read_file(options_.files.key));
  return build_(std::move(contents));
}

void RotatingTls::check() {
  next_check_ = options_.clock->now() + options_.check_every;
  // Taken before reading: a file replaced while we read looks changed again at the next check.
  const Stamps found = stamps();
  if (found == seen_ && !try_again_) return;
  seen_ = found;
  auto loaded = load();
  try_again_ = !loaded && !is_lasting(loaded.error());
  if (!loaded) {
    refuse(std::move(loaded).error().with_context("new certificate files are not used"));
    return;
  }
  problem_.reset();
  refused_.set(0);
  context_ = *std::move(loaded);
  ++rotations_;
}

void RotatingTls::refuse(Error why) {
  // A file that is tried again at each check fails for the same reason for as long as that lasts.
  const bool known = problem_ == why;
  problem_ = std::move(why);
  refused_.set(1);
  if (known) return;
  options_.log.error("certificate files cannot be used: mend this before the old ones end",
                     {{"file", name()}, {"error", *problem_}});
}

std::shared_ptr<const TlsContext> RotatingTls::current() {
  if (options_.clock->now() >= next_check_) check();
  return context_;
}

}  // namespace mainspring::net
