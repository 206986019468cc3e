// A binary compiled for features that the CPU lacks would die of an illegal
// instruction, perhaps before main: the C++ parts of llama.cpp have static
// constructors. This one runs ahead of them, uses none of the features, and
// says what is wrong. Go repeats the check with more words (cpu.go).
#if defined(__x86_64__) && defined(__linux__)

#include <unistd.h>

__attribute__((constructor(101), target("general-regs-only,no-bmi,no-bmi2,no-movbe,no-lzcnt")))
static void percached_cpu_guard(void) {
	const char *lacks = 0; // the most basic of what is missing
	__builtin_cpu_init();
#ifdef __AVX2__
	if (!__builtin_cpu_supports("avx2")) {
		lacks = "AVX2\n";
	}
#endif
#ifdef __AVX512F__
	if (!lacks && !__builtin_cpu_supports("avx512f")) {
		lacks = "AVX-512\n";
	}
#endif
#ifdef __AVX512VNNI__
	if (!lacks && !__builtin_cpu_supports("avx512vnni")) {
		lacks = "AVX-512 VNNI\n";
	}
#endif
#ifdef __AVX512BF16__
	if (!lacks && !__builtin_cpu_supports("avx512bf16")) {
		lacks = "AVX-512 BF16\n";
	}
#endif
	if (lacks) {
		static const char text[] =
			"percached: this binary was compiled for a newer CPU than this one.\n"
			"Build it on this machine with make build, or take a release for an older CPU. Missing: ";
		unsigned long n = 0;
		while (lacks[n]) {
			n++;
		}
		if (write(2, text, sizeof text - 1) < 0 || write(2, lacks, n) < 0) {
			_exit(1);
		}
		_exit(1);
	}
}

#endif
