//go:build system_llama

#include "bridge.h"
#include "guarded.h"

#include <dlfcn.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <set>
#include <string>

#define PC_TEXT_(x) #x
#define PC_TEXT(x) PC_TEXT_(x)

// Older ones have none: then the address is null.
extern "C" const char *llama_version(void) __attribute__((weak));

static bool has_cpu() { return ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU) != nullptr; }

// Plugins lie beside the library, or where it was told when it was built. It also looks
// in the folder that the process is in: so not before the others.
void pc_load_backends(void) {
	Dl_info info;
	if (!has_cpu() && dladdr(reinterpret_cast<const void *>(&ggml_backend_dev_count), &info) != 0 && info.dli_fname != nullptr) {
		const std::string file = info.dli_fname;
		const size_t end       = file.rfind('/');
		if (end != std::string::npos) {
			guarded<int>(0, [&] { ggml_backend_load_all_from_path(file.substr(0, end).c_str()); return 1; });
		}
	}
	if (!has_cpu()) {
		guarded<int>(0, [] { ggml_backend_load_all(); return 1; });
	}
}

static void *of_cpu(const char *name) {
	ggml_backend_dev_t cpu = ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU);
	return cpu == nullptr ? nullptr : ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(cpu), name);
}

// Without a pool llama.cpp makes threads for every batch: slower, and right.
struct ggml_threadpool *pc_threadpool_new(struct ggml_threadpool_params *params) {
	using make = struct ggml_threadpool *(*)(struct ggml_threadpool_params *);
	make f = reinterpret_cast<make>(of_cpu("ggml_threadpool_new"));
	return f == nullptr ? nullptr : f(params);
}

void pc_threadpool_free(struct ggml_threadpool *threadpool) {
	using end = void (*)(struct ggml_threadpool *);
	end f = reinterpret_cast<end>(of_cpu("ggml_threadpool_free"));
	if (threadpool != nullptr && f != nullptr) {
		f(threadpool);
	}
}

void pc_place_layers(struct llama_model_params *params, int32_t gpu_layers) {
	static ggml_backend_dev_t none[] = {nullptr};
	if (gpu_layers >= 0) {
		params->n_gpu_layers = gpu_layers;
	}
	if (gpu_layers == 0) {
		params->devices = none; // or large batches would still go to a GPU
	}
}

int32_t pc_vector_width(const struct llama_model *model) {
#if LLAMA_STATE_SEQ_VERSION >= 3
	return llama_model_n_embd_out(model); // some models end in layers that change it
#else
	return llama_model_n_embd(model);
#endif
}

// Both records are passed by value: a library with other fields than the header that
// this was compiled with would read and write beside them. Their defaults tell.
const char *pc_library_fault(void) {
	if (!has_cpu()) {
		return "it has no part that computes on the CPU: install libggml-cpu beside it";
	}
	const llama_model_params m   = llama_model_default_params();
	const llama_context_params c = llama_context_default_params();
	const bool same = m.devices == nullptr && m.tensor_buft_overrides == nullptr && m.main_gpu == 0 && m.tensor_split == nullptr &&
		m.progress_callback == nullptr && m.progress_callback_user_data == nullptr && m.kv_overrides == nullptr &&
		!m.vocab_only && !m.check_tensors && m.use_extra_bufts && !m.no_host &&
		c.n_ctx == 512 && c.n_batch == 2048 && c.n_ubatch == 512 && c.n_seq_max == 1 && c.n_threads == GGML_DEFAULT_N_THREADS &&
		c.pooling_type == LLAMA_POOLING_TYPE_UNSPECIFIED && c.flash_attn_type == LLAMA_FLASH_ATTN_TYPE_AUTO &&
		c.yarn_ext_factor == -1.0f && c.cb_eval == nullptr && c.type_k == GGML_TYPE_F16 && c.type_v == GGML_TYPE_F16 &&
		c.abort_callback == nullptr && !c.embeddings && c.offload_kqv && c.no_perf && c.op_offload && c.swa_full && !c.kv_unified;
	return same ? nullptr : "its interface is not the one of the header that percached was compiled with: build percached again with make build LLAMA=system";
}

const char *pc_library_version(void) { return llama_version == nullptr ? "" : llama_version(); }

const char *pc_library_made_for(void) {
#ifdef PC_LLAMA_VERSION
	return PC_TEXT(PC_LLAMA_VERSION);
#else
	return "";
#endif
}

int32_t pc_library_files(char *buf, int32_t size) {
	return guarded<int32_t>(0, [&] {
		std::set<std::string> files;
		auto add = [&](const void *in) {
			Dl_info info;
			if (in != nullptr && dladdr(in, &info) != 0 && info.dli_fname != nullptr) {
				files.insert(info.dli_fname);
			}
		};
		add(reinterpret_cast<const void *>(&llama_decode));
		add(reinterpret_cast<const void *>(&ggml_backend_tensor_get));
		add(reinterpret_cast<const void *>(&ggml_backend_dev_count));
		for (size_t i = 0; i < ggml_backend_reg_count(); i++) {
			add(ggml_backend_reg_get(i)); // a variable of the backend's
		}
		std::string text;
		for (const std::string &f : files) {
			text += f + "\n";
		}
		const size_t n = std::min(text.size(), size_t(size));
		std::memcpy(buf, text.data(), n);
		return int32_t(n);
	});
}

bool pc_device_at(int32_t i, pc_device *d) {
	if (size_t(i) >= ggml_backend_dev_count()) {
		return false;
	}
	ggml_backend_dev_t dev = ggml_backend_dev_get(size_t(i));
	const char *name = ggml_backend_dev_name(dev), *description = ggml_backend_dev_description(dev);
	std::snprintf(d->name, sizeof d->name, "%s", name == nullptr ? "" : name);
	std::snprintf(d->description, sizeof d->description, "%s", description == nullptr ? "" : description);
	d->shared = ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_IGPU;
	d->gpu    = d->shared || ggml_backend_dev_type(dev) == GGML_BACKEND_DEVICE_TYPE_GPU;
	size_t room = 0, all = 0;
	ggml_backend_dev_memory(dev, &room, &all);
	d->room = int64_t(room);
	return true;
}
