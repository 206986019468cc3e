// What the compiler was told it may use, as words that Linux uses in
// /proc/cpuinfo. Preprocessor only: Go reads it without calling C.
#ifndef PERCACHED_FEATURES_H
#define PERCACHED_FEATURES_H

#ifdef __AVX__
#define PC_AVX " avx"
#else
#define PC_AVX ""
#endif
#ifdef __AVX2__
#define PC_AVX2 " avx2"
#else
#define PC_AVX2 ""
#endif
#ifdef __FMA__
#define PC_FMA " fma"
#else
#define PC_FMA ""
#endif
#ifdef __F16C__
#define PC_F16C " f16c"
#else
#define PC_F16C ""
#endif
#ifdef __BMI2__
#define PC_BMI2 " bmi2"
#else
#define PC_BMI2 ""
#endif
#ifdef __AVXVNNI__
#define PC_AVXVNNI " avx_vnni"
#else
#define PC_AVXVNNI ""
#endif
#ifdef __AVX512F__
#define PC_AVX512F " avx512f"
#else
#define PC_AVX512F ""
#endif
#ifdef __AVX512BW__
#define PC_AVX512BW " avx512bw"
#else
#define PC_AVX512BW ""
#endif
#ifdef __AVX512VBMI__
#define PC_AVX512VBMI " avx512vbmi"
#else
#define PC_AVX512VBMI ""
#endif
#ifdef __AVX512VNNI__
#define PC_AVX512VNNI " avx512_vnni"
#else
#define PC_AVX512VNNI ""
#endif
#ifdef __AVX512BF16__
#define PC_AVX512BF16 " avx512_bf16"
#else
#define PC_AVX512BF16 ""
#endif
#ifdef __AVX512FP16__
#define PC_AVX512FP16 " avx512_fp16"
#else
#define PC_AVX512FP16 ""
#endif
#ifdef __AMX_INT8__
#define PC_AMX " amx_int8"
#else
#define PC_AMX ""
#endif
#ifdef __ARM_NEON
#define PC_NEON " asimd"
#else
#define PC_NEON ""
#endif
#ifdef __ARM_FEATURE_FP16_VECTOR_ARITHMETIC
#define PC_FP16 " asimdhp"
#else
#define PC_FP16 ""
#endif
#ifdef __ARM_FEATURE_DOTPROD
#define PC_DOTPROD " asimddp"
#else
#define PC_DOTPROD ""
#endif
#ifdef __ARM_FEATURE_MATMUL_INT8
#define PC_I8MM " i8mm"
#else
#define PC_I8MM ""
#endif
#ifdef __ARM_FEATURE_SVE
#define PC_SVE " sve"
#else
#define PC_SVE ""
#endif

#define PC_FEATURES PC_AVX PC_AVX2 PC_FMA PC_F16C PC_BMI2 PC_AVXVNNI PC_AVX512F PC_AVX512BW PC_AVX512VBMI \
	PC_AVX512VNNI PC_AVX512BF16 PC_AVX512FP16 PC_AMX PC_NEON PC_FP16 PC_DOTPROD PC_I8MM PC_SVE

#define PC_COMPILER __VERSION__

#endif // PERCACHED_FEATURES_H
