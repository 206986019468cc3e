// An installed llama.cpp in place of abi.h, under the build tag system_llama. Its own
// header declares all that is used, so that the compiler checks every call and every
// field; what it cannot check is checked here, and at start in system.cpp.
#ifndef PERCACHED_SYSTEM_H
#define PERCACHED_SYSTEM_H

#include <llama.h>
#include <ggml.h>
#include <ggml-backend.h>
#include <ggml-cpu.h>

// internal/tools/need.sh names the same range. The bundled llama.cpp has 9 and 2,
// llama.cpp 0.5 has 10 and 3; blob.go reads both.
#if !defined(LLAMA_SESSION_VERSION) || !defined(LLAMA_STATE_SEQ_VERSION)
#error "This llama.h names no version of its states. percached supports llama.cpp from build 7500 to version 0.5: see docs/configuration.md."
#elif LLAMA_SESSION_VERSION < 9 || LLAMA_STATE_SEQ_VERSION < 2
#error "This llama.h is too old. percached supports llama.cpp from build 7500 to version 0.5: see docs/configuration.md."
#elif LLAMA_SESSION_VERSION > 10 || LLAMA_STATE_SEQ_VERSION > 3
#error "This llama.h is newer than any that is known. percached supports llama.cpp from build 7500 to version 0.5: see docs/configuration.md, or build without LLAMA=system."
#endif

#ifdef __cplusplus
#define PC_HOLDS(fact, text) static_assert(fact, text)
extern "C" {
#else
#define PC_HOLDS(fact, text) _Static_assert(fact, text)
#endif

// Numbers that Go writes out.
PC_HOLDS(GGML_TYPE_F16 == 1 && GGML_TYPE_Q4_0 == 2 && GGML_TYPE_Q8_0 == 8, "config.go numbers the types of keys and values otherwise");
PC_HOLDS(LLAMA_FLASH_ATTN_TYPE_AUTO == -1 && LLAMA_FLASH_ATTN_TYPE_DISABLED == 0 && LLAMA_FLASH_ATTN_TYPE_ENABLED == 1, "config.go numbers flash attention otherwise");
PC_HOLDS(sizeof(llama_token) == 4 && sizeof(llama_pos) == 4 && sizeof(llama_seq_id) == 4, "Go passes these in 32 bits");

// The CPU's part may be a plugin, which nothing can link: these find it.
struct ggml_threadpool *pc_threadpool_new(struct ggml_threadpool_params *params);
void pc_threadpool_free(struct ggml_threadpool *threadpool);
#define ggml_threadpool_new pc_threadpool_new
#define ggml_threadpool_free pc_threadpool_free

// Finds the plugins of a llama.cpp that is built in parts.
void pc_load_backends(void);
// See pc_model_load.
void pc_place_layers(struct llama_model_params *params, int32_t gpu_layers);

// What is wrong with the library that was loaded; null: nothing.
const char *pc_library_fault(void);
// Its version; empty if it does not tell. Made for: what make compiled against.
const char *pc_library_version(void);
const char *pc_library_made_for(void);
// The files that it was loaded from, a line each; the length.
int32_t pc_library_files(char *buf, int32_t size);

typedef struct pc_device {
	char name[64], description[128];
	bool gpu, shared; // shared: a GPU in the CPU's own memory
	int64_t room;     // bytes that are free
} pc_device;
// Device number i; false behind the last one.
bool pc_device_at(int32_t i, pc_device *d);

#ifdef __cplusplus
}
#endif

#endif // PERCACHED_SYSTEM_H
