// For x86-64 processors with AVX2 and FMA; compiled with -mavx2 -mfma.
#define FIREBOSS_LANES 8
#define FIREBOSS_ROWS 6
#define FIREBOSS_NAME "cpu-avx2"
#define FIREBOSS_TABLE kAvx2Kernels
#include "engine/model/kernels_body.h"
