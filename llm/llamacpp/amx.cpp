// The bundled llama.cpp asks for its AMX kernels where the compiler may use AMX, but its Go
// package leaves them out, and the program would not link. Without them it computes with
// AVX-512, as on other processors. The symbol is weak: once the package has the kernels, they
// are used.
#if defined(__AMX_INT8__) && !defined(PC_SYSTEM_LLAMA)

struct ggml_backend_buffer_type;

__attribute__((weak)) ggml_backend_buffer_type * ggml_backend_amx_buffer_type(void) { return nullptr; }

#endif
