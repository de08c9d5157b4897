// operator/build/ssh_keys.h
//
// Host keys for sshd: RSA of 4096 bits, ECDSA on P-256, Ed25519, each as the two files that OpenSSH
// writes. Pure but for the keys, which come from OpenSSL's random source: a secret must not follow
// from a seed. Making them takes seconds of CPU: never on the control loop (net/run_blocking.h),
// and only where there are none yet, since users have noted the old ones.
#pragma once

#include <map>
#include <string>

#include "base/result.h"
#include "base/secret.h"

namespace mainspring::op::build {

struct SshKeyOptions {
  unsigned rsa_bits = 4096;
};

// ssh_host_{rsa,ecdsa,ed25519}_key in OpenSSH's own format without passphrase, and the same with
// ".pub" as a line of authorized_keys.
Result<std::map<std::string, Secret>> make_ssh_host_keys(SshKeyOptions options = {});

}  // namespace mainspring::op::build
