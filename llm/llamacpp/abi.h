// The part of llama.cpp's C interface that percached uses, and nothing else.
// Another libllama can be linked when this file agrees with its headers;
// TestABI holds it to the headers of the module that is linked today.
#ifndef PERCACHED_ABI_H
#define PERCACHED_ABI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The test declares the functions below once more behind the real types.
#ifndef PERCACHED_ABI_PROTOTYPES_ONLY

enum { GGML_OP_ROPE = 48 };

enum ggml_type { GGML_TYPE_F32 = 0, GGML_TYPE_F16 = 1, GGML_TYPE_Q4_0 = 2, GGML_TYPE_Q8_0 = 8 };

enum ggml_log_level {
	GGML_LOG_LEVEL_NONE  = 0,
	GGML_LOG_LEVEL_DEBUG = 1,
	GGML_LOG_LEVEL_INFO  = 2,
	GGML_LOG_LEVEL_WARN  = 3,
	GGML_LOG_LEVEL_ERROR = 4,
	GGML_LOG_LEVEL_CONT  = 5,
};

struct ggml_backend_buffer;

struct ggml_tensor {
	enum ggml_type type;
	struct ggml_backend_buffer *buffer;
	int64_t ne[4];
	size_t nb[4];
	int32_t op;
	int32_t op_params[16];
	int32_t flags;
	struct ggml_tensor *src[10];
	struct ggml_tensor *view_src;
	size_t view_offs;
	void *data;
	char name[64];
	void *extra;
	char padding[8];
};

typedef bool (*ggml_abort_callback)(void *data);
typedef bool (*ggml_backend_sched_eval_callback)(struct ggml_tensor *t, bool ask, void *user_data);
typedef void (*ggml_log_callback)(enum ggml_log_level level, const char *text, void *user_data);
typedef bool (*llama_progress_callback)(float progress, void *user_data);

struct llama_model;
struct llama_context;
struct llama_vocab;
struct llama_memory_i;
typedef struct llama_memory_i *llama_memory_t;
typedef int32_t llama_pos;
typedef int32_t llama_token;
typedef int32_t llama_seq_id;

enum llama_token_attr {
	LLAMA_TOKEN_ATTR_UNKNOWN      = 1 << 0,
	LLAMA_TOKEN_ATTR_CONTROL      = 1 << 3,
	LLAMA_TOKEN_ATTR_USER_DEFINED = 1 << 4,
};

enum llama_vocab_type { LLAMA_VOCAB_TYPE_NONE = 0, LLAMA_VOCAB_TYPE_SPM = 1 };

enum llama_rope_type {
	LLAMA_ROPE_TYPE_NONE   = -1,
	LLAMA_ROPE_TYPE_NORM   = 0,
	LLAMA_ROPE_TYPE_NEOX   = 2,
	LLAMA_ROPE_TYPE_MROPE  = 8,
	LLAMA_ROPE_TYPE_VISION = 24,
	LLAMA_ROPE_TYPE_IMROPE = 40,
};

enum llama_rope_scaling_type { LLAMA_ROPE_SCALING_TYPE_UNSPECIFIED = -1 };
enum llama_attention_type { LLAMA_ATTENTION_TYPE_UNSPECIFIED = -1 };
enum llama_split_mode { LLAMA_SPLIT_MODE_NONE = 0 };

enum llama_pooling_type {
	LLAMA_POOLING_TYPE_UNSPECIFIED = -1,
	LLAMA_POOLING_TYPE_NONE        = 0,
	LLAMA_POOLING_TYPE_MEAN        = 1,
	LLAMA_POOLING_TYPE_CLS         = 2,
	LLAMA_POOLING_TYPE_LAST        = 3,
	LLAMA_POOLING_TYPE_RANK        = 4,
};

enum llama_flash_attn_type {
	LLAMA_FLASH_ATTN_TYPE_AUTO     = -1,
	LLAMA_FLASH_ATTN_TYPE_DISABLED = 0,
	LLAMA_FLASH_ATTN_TYPE_ENABLED  = 1,
};

enum ggml_sched_priority { GGML_SCHED_PRIO_NORMAL = 0 };

struct ggml_threadpool_params {
	bool cpumask[512];
	int n_threads;
	enum ggml_sched_priority prio;
	uint32_t poll;
	bool strict_cpu;
	bool paused;
};

struct ggml_threadpool;
typedef struct ggml_threadpool *ggml_threadpool_t;

struct llama_batch {
	int32_t n_tokens;
	llama_token *token;
	float *embd;
	llama_pos *pos;
	int32_t *n_seq_id;
	llama_seq_id **seq_id;
	int8_t *logits;
};

struct llama_model_params {
	void *devices;
	const void *tensor_buft_overrides;
	int32_t n_gpu_layers;
	enum llama_split_mode split_mode;
	int32_t main_gpu;
	const float *tensor_split;
	llama_progress_callback progress_callback;
	void *progress_callback_user_data;
	const void *kv_overrides;
	bool vocab_only;
	bool use_mmap;
	bool use_mlock;
	bool check_tensors;
	bool use_extra_bufts;
	bool no_host;
	bool no_alloc;
};

struct llama_context_params {
	uint32_t n_ctx;
	uint32_t n_batch;
	uint32_t n_ubatch;
	uint32_t n_seq_max;
	int32_t n_threads;
	int32_t n_threads_batch;
	enum llama_rope_scaling_type rope_scaling_type;
	enum llama_pooling_type pooling_type;
	enum llama_attention_type attention_type;
	enum llama_flash_attn_type flash_attn_type;
	float rope_freq_base;
	float rope_freq_scale;
	float yarn_ext_factor;
	float yarn_attn_factor;
	float yarn_beta_fast;
	float yarn_beta_slow;
	uint32_t yarn_orig_ctx;
	float defrag_thold;
	ggml_backend_sched_eval_callback cb_eval;
	void *cb_eval_user_data;
	enum ggml_type type_k;
	enum ggml_type type_v;
	ggml_abort_callback abort_callback;
	void *abort_callback_data;
	bool embeddings;
	bool offload_kqv;
	bool no_perf;
	bool op_offload;
	bool swa_full;
	bool kv_unified;
};

typedef struct llama_chat_message {
	const char *role;
	const char *content;
} llama_chat_message;

#endif // PERCACHED_ABI_PROTOTYPES_ONLY

#ifdef __cplusplus
extern "C" {
#endif

void llama_backend_init(void);
void llama_log_set(ggml_log_callback log_callback, void *user_data);

struct llama_model_params llama_model_default_params(void);
struct llama_model *llama_model_load_from_file(const char *path, struct llama_model_params params);
void llama_model_free(struct llama_model *model);
const struct llama_vocab *llama_model_get_vocab(const struct llama_model *model);
enum llama_rope_type llama_model_rope_type(const struct llama_model *model);
int32_t llama_model_n_ctx_train(const struct llama_model *model);
int32_t llama_model_n_embd(const struct llama_model *model);
int32_t llama_model_n_layer(const struct llama_model *model);
int32_t llama_model_n_head(const struct llama_model *model);
int32_t llama_model_n_head_kv(const struct llama_model *model);
int32_t llama_model_n_swa(const struct llama_model *model);
uint64_t llama_model_size(const struct llama_model *model);
uint64_t llama_model_n_params(const struct llama_model *model);
const char *llama_model_chat_template(const struct llama_model *model, const char *name);
bool llama_model_has_encoder(const struct llama_model *model);
bool llama_model_has_decoder(const struct llama_model *model);
bool llama_model_is_recurrent(const struct llama_model *model);
bool llama_model_is_hybrid(const struct llama_model *model);
bool llama_model_is_diffusion(const struct llama_model *model);

struct llama_context_params llama_context_default_params(void);
struct llama_context *llama_init_from_model(struct llama_model *model, struct llama_context_params params);
void llama_free(struct llama_context *ctx);
void llama_attach_threadpool(struct llama_context *ctx, ggml_threadpool_t threadpool, ggml_threadpool_t threadpool_batch);
void llama_set_n_threads(struct llama_context *ctx, int32_t n_threads, int32_t n_threads_batch);
enum llama_pooling_type llama_pooling_type(const struct llama_context *ctx);
llama_memory_t llama_get_memory(const struct llama_context *ctx);

void llama_memory_clear(llama_memory_t mem, bool data);
bool llama_memory_seq_rm(llama_memory_t mem, llama_seq_id seq_id, llama_pos p0, llama_pos p1);
void llama_memory_seq_cp(llama_memory_t mem, llama_seq_id src, llama_seq_id dst, llama_pos p0, llama_pos p1);
void llama_memory_seq_add(llama_memory_t mem, llama_seq_id seq_id, llama_pos p0, llama_pos p1, llama_pos delta);
llama_pos llama_memory_seq_pos_min(llama_memory_t mem, llama_seq_id seq_id);
llama_pos llama_memory_seq_pos_max(llama_memory_t mem, llama_seq_id seq_id);
bool llama_memory_can_shift(llama_memory_t mem);

size_t llama_state_seq_get_size(struct llama_context *ctx, llama_seq_id seq_id);
size_t llama_state_seq_get_data(struct llama_context *ctx, uint8_t *dst, size_t size, llama_seq_id seq_id);
size_t llama_state_seq_set_data(struct llama_context *ctx, const uint8_t *src, size_t size, llama_seq_id dest);

struct llama_batch llama_batch_init(int32_t n_tokens, int32_t embd, int32_t n_seq_max);
void llama_batch_free(struct llama_batch batch);
int32_t llama_decode(struct llama_context *ctx, struct llama_batch batch);
float *llama_get_logits_ith(struct llama_context *ctx, int32_t i);
float *llama_get_embeddings_seq(struct llama_context *ctx, llama_seq_id seq_id);

enum llama_vocab_type llama_vocab_type(const struct llama_vocab *vocab);
int32_t llama_vocab_n_tokens(const struct llama_vocab *vocab);
const char *llama_vocab_get_text(const struct llama_vocab *vocab, llama_token token);
enum llama_token_attr llama_vocab_get_attr(const struct llama_vocab *vocab, llama_token token);
bool llama_vocab_is_eog(const struct llama_vocab *vocab, llama_token token);
llama_token llama_vocab_bos(const struct llama_vocab *vocab);
bool llama_vocab_get_add_bos(const struct llama_vocab *vocab);
int32_t llama_tokenize(const struct llama_vocab *vocab, const char *text, int32_t text_len, llama_token *tokens,
	int32_t n_tokens_max, bool add_special, bool parse_special);
int32_t llama_token_to_piece(const struct llama_vocab *vocab, llama_token token, char *buf, int32_t length,
	int32_t lstrip, bool special);
int32_t llama_chat_apply_template(const char *tmpl, const struct llama_chat_message *chat, size_t n_msg, bool add_ass,
	char *buf, int32_t length);

void ggml_backend_tensor_get(const struct ggml_tensor *tensor, void *data, size_t offset, size_t size);
struct ggml_threadpool_params ggml_threadpool_params_default(int n_threads);
struct ggml_threadpool *ggml_threadpool_new(struct ggml_threadpool_params *params);
void ggml_threadpool_free(struct ggml_threadpool *threadpool);
void ggml_fp32_to_fp16_row(const float *x, uint16_t *y, int64_t n);

#ifdef __cplusplus
}
#endif

#endif // PERCACHED_ABI_H
