#include "late.h"

#ifdef __linux__

namespace {
thread_local late_backends *current = nullptr;
}

extern "C" void __real_ggml_backend_free(void *backend);

// See LDFLAGS in doc.go.
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

#else // no such linker: the read hits memory that nothing has reused yet

late_backends::late_backends() = default;
late_backends::~late_backends() = default;

#endif
