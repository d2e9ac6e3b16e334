#pragma once
// How long a call may take and how large its answer may be. Calibration proposes deadlines, the client keeps
// them.
#include <cstdint>

#include "base/time.h"

namespace fireboss::canary {

struct Deadlines {
  Millis connect{5'000};      // resolve and connect
  Millis first_byte{60'000};  // request sent -> first byte of the answer
  Millis between{30'000};     // from byte to byte
  Millis total{120'000};      // the whole call, however busily it trickles
  Millis after_done{250};     // a stream that said [DONE] and is not ended: the rest is not waited for
};

struct Limits {
  std::uint32_t header_bytes = 64 * 1024;
  std::uint64_t body_bytes = 4 * 1024 * 1024;
};

}  // namespace fireboss::canary
