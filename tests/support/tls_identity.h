#pragma once
// Certificates for tests, made on the spot: an authority of its own and a server's certificate by it.
#include <string>

namespace fireboss::test {

struct TlsIdentity {
  std::string authority;    // PEM
  std::string certificate;  // PEM, signed by it
  std::string key;          // PEM
};

// `subject` as in a subjectAltName: "DNS:localhost", "IP:127.0.0.1". `expired`: its time is over.
[[nodiscard]] TlsIdentity make_identity(const std::string& subject, bool expired = false);

}  // namespace fireboss::test
