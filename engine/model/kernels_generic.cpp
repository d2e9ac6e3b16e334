// For any processor: four lanes, which is SSE2 on x86-64 and NEON on AArch64.
#define FIREBOSS_LANES 4
#define FIREBOSS_ROWS 2
#define FIREBOSS_NAME "cpu-generic"
#define FIREBOSS_TABLE kGenericKernels
#include "engine/model/kernels_body.h"
