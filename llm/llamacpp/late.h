// llama.cpp frees a context's backends before its scheduler, which reads them
// once more (ollama's reset, in ggml_backend_sched_free). While one of these
// lives, the linker's wrap puts off what its thread frees to the end of it.
#ifndef PERCACHED_LATE_H
#define PERCACHED_LATE_H

#include <vector>

struct late_backends {
	std::vector<void *> freed;
	late_backends();
	~late_backends();
};

#endif // PERCACHED_LATE_H
