#include "engine/model/kernels.h"

namespace fireboss::engine {

extern const Kernels kGenericKernels;
#if defined(__x86_64__)
extern const Kernels kAvx2Kernels;
#endif

std::vector<const Kernels*> usable_kernels() {
  std::vector<const Kernels*> usable;
#if defined(__x86_64__)
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    usable.push_back(&kAvx2Kernels);
  }
#endif
  usable.push_back(&kGenericKernels);
  return usable;
}

}  // namespace fireboss::engine
