//go:build !system_llama

package llamacpp

// bundled: the llama.cpp of the module is linked, not an installed one.
const bundled = true

// lfm2Norm is how llama.cpp calls the last norm of LFM2 models.
const lfm2Norm = "output_norm.weight"
