// SPDX-License-Identifier: Apache-2.0
// kernels/common/variant.h - the name of a kernel whose source makes a variant *_halves, too.
//
// A file that defines FV_HALVES before it includes vec.h is that variant, for cores that execute 512 bits as two
// halves. What differs is where FV_HALVES is asked for: bytes.h, gemm_few_plain.h, gemm_few_s8.h, gemm_few_step.h,
// attention_decode_few.h (DECODE_HALVES) and avx512/transpose.h (FV_TRANSPOSE_FOURS).
#ifndef FOVEA_KERNELS_COMMON_VARIANT_H
#define FOVEA_KERNELS_COMMON_VARIANT_H

#ifdef FV_HALVES
#define FV_VARIANT(stem) FV_NAME(stem##_halves)
#else
#define FV_VARIANT(stem) FV_NAME(stem)
#endif

#endif
