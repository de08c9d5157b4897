// net/rotating_tls.h
//
// TlsSource over files that change while we run: a mounted Secret, cert-manager, kubelet-style
// rotation. Looks at the files at most every `check_every`, when a handshake needs them; a change
// is taken over only if everything in it fits together; one that could not be read is tried again
// each time. Until then the old certificates stay in use, and problem(), the log and a metric say
// why: they end some day, and then every handshake fails. Streams that exist keep what they began
// with. Lives on one loop; it reads small local files on it.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <string>

#include "base/clock.h"
#include "base/log.h"
#include "base/metrics.h"
#include "net/tls.h"

namespace mainspring::net {

// Paths of PEM files; an empty one means that there is none. Symbolic links are followed each time,
// which is how Kubernetes replaces all files of a Secret at once.
struct TlsFiles {
  std::string ca;
  std::string cert;
  std::string key;

  bool any() const { return !ca.empty() || !cert.empty() || !key.empty(); }
};

class RotatingTls final : public TlsSource {
 public:
  struct Options {
    TlsFiles files;
    const Clock* clock = nullptr;  // Must outlive this.
    Duration check_every = seconds(10);
    Logger log = {};             // Told why files cannot be used, once until the reason changes.
    Metrics* metrics = nullptr;  // tls_files_refused, by the path of one of the files.
  };

  // The PEM texts in `rules` are replaced by the files' contents where a path is given. Fails if
  // the files cannot be used now. For a server, `files.ca` is what clients are checked against.
  static Result<std::shared_ptr<RotatingTls>> client(Options options, TlsClientOptions rules);
  static Result<std::shared_ptr<RotatingTls>> server(Options options, TlsServerOptions rules);

  std::shared_ptr<const TlsContext> current() override;

  // Looks at the files now.
  void check();
  // Why the files as they are now are not in use; nothing if they are.
  const std::optional<Error>& problem() const { return problem_; }
  // How often new files were taken over.
  int rotations() const { return rotations_; }

 private:
  struct Contents {
    std::string ca;
    std::string cert;
    std::string key;
  };
  using Build = std::function<Result<std::shared_ptr<TlsContext>>(Contents)>;
  // What tells one version of a file from another without reading it.
  struct Stamp {
    std::uint64_t device = 0;
    std::uint64_t inode = 0;
    std::int64_t size = -1;
    std::int64_t modified = 0;
    std::int64_t changed = 0;
    bool operator==(const Stamp&) const = default;
  };
  using Stamps = std::array<Stamp, 3>;

  RotatingTls(Options options, Build build);
  static Result<std::shared_ptr<RotatingTls>> make(Options options, Build build);
  static Stamp stamp(const std::string& path);
  Stamps stamps() const;
  Result<std::shared_ptr<TlsContext>> load() const;
  const std::string& name() const;
  void refuse(Error why);

  Options options_;
  Build build_;
  std::shared_ptr<const TlsContext> context_;
  Stamps seen_;
  bool try_again_ = false;  // Also if the files look as they did: what failed was not their fault.
  TimePoint next_check_;
  std::optional<Error> problem_;
  Gauge refused_;
  int rotations_ = 0;
};

}  // namespace mainspring::net
