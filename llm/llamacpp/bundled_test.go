//go:build !system_llama

package llamacpp

// lfm2Norm is how llama.cpp calls the last norm of LFM2 models.
const lfm2Norm = "output_norm.weight"
