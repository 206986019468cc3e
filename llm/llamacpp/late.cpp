#include "late.h"

#if defined(__linux__) && !defined(PC_SYSTEM_LLAMA)

namespace {
thread_local late_backends *current = nullptr;
}

extern "C" void __real_ggml_backend_free(void *backend);

// See LDFLAGS in bundled.go.
extern "C" void __wrap_ggml_backend_free(void *backend) {
	if (current != nullptr) {
		current->freed.push_back(backend);
	} else {
		__real_ggml_backend_free(backend);
	}
}

late_backends::late_backends() { current = this; }

late_backends::~late_backends() {
	current = nullptr;
	for (void *backend : freed) {
		__real_ggml_backend_free(backend);
	}
}

#else // an installed llama.cpp does not read them; elsewhere no such linker: the read hits memory that nothing has reused yet

late_backends::late_backends() = default;
late_backends::~late_backends() = default;

#endif
