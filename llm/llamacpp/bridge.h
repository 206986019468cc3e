// What Go calls. Nothing here throws, keeps a pointer that Go lent, or calls
// back into Go; a C++ exception becomes a return code and a message.
#ifndef PERCACHED_BRIDGE_H
#define PERCACHED_BRIDGE_H

#ifdef PC_SYSTEM_LLAMA
#include "system.h"
#else
#include "abi.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

// Set by Go while C runs, read by C once per graph node.
typedef struct pc_flags {
	int32_t stop;     // not 0: give up soon
	int32_t progress; // loading, in thousandths
} pc_flags;

typedef struct pc_context pc_context;

// The shape of the room for a segment's queries, [layer][token][width] in half
// precision, and the token at which a batch begins.
typedef struct pc_queries {
	int32_t layers, tokens, width, at;
} pc_queries;

enum { PC_THREW = -100, PC_NOT_FINITE = -2 };

void pc_init(void);
// Copies what llama.cpp reported as errors since the last call; the length.
int32_t pc_take_errors(char *buf, int32_t size);

// gpu_layers: as many are computed on a GPU; 0: none is, and no other work either;
// negative: as llama.cpp does by itself. mapped: no weights are copied out of the file.
struct llama_model *pc_model_load(const char *path, pc_flags *flags, int32_t gpu_layers, bool mapped);
// fetch_experts: experts are read from the mapped file as soon as a layer chose them.
pc_context *pc_context_new(struct llama_model *model, struct llama_context_params params, pc_flags *flags, bool watch_queries, bool fetch_experts);
void pc_context_free(pc_context *c);
struct llama_context *pc_llama(pc_context *c);
// Gives a context threads that stay; to be freed behind it.
ggml_threadpool_t pc_attach_threads(struct llama_context *ctx, int32_t n);

int32_t pc_tokenize(const struct llama_vocab *vocab, const char *text, int32_t len, llama_token *tokens, int32_t max, bool framed, bool special);
int32_t pc_apply_template(const char *tmpl, const char *system, const char *user, char *buf, int32_t size);

// Computes n tokens of one sequence from pos on. The result is llama_decode's,
// or PC_THREW. Queries go to room, if it is not null.
int32_t pc_decode(pc_context *c, const llama_token *tokens, int32_t n, llama_pos pos, llama_seq_id seq, bool logits, uint16_t *room, pc_queries shape);
// Computes n tokens like pc_decode, with the best token behind each.
int32_t pc_check(pc_context *c, const llama_token *tokens, int32_t n, llama_pos pos, llama_seq_id seq, int32_t vocabulary, int32_t *best);
// Computes n tokens, each at its position in its sequence, with scores behind the last
// few of them.
int32_t pc_decode_each(pc_context *c, const llama_token *tokens, const llama_pos *pos, const llama_seq_id *seqs, int32_t n, int32_t scored);
// The n best tokens by their scores, best first, with the logarithms of their
// probabilities, and that of the sum that norms the scores. The result is
// PC_NOT_FINITE if a score is not a number.
int32_t pc_best(const float *scores, int32_t vocabulary, llama_token *best, float *logs, int32_t n, float *norm);
// How many numbers an embedding model's vectors have.
int32_t pc_vector_width(const struct llama_model *model);
// Computes one text for its vector.
int32_t pc_embed(pc_context *c, const llama_token *tokens, int32_t n);
// The best token behind the last batch, or PC_NOT_FINITE.
int32_t pc_argmax(pc_context *c, int32_t vocabulary);

void pc_clear(pc_context *c, bool data);
// One slice in or out: the range [p0, p1) of seq, by way of the scratch sequence.
size_t pc_copy_out(pc_context *c, llama_seq_id seq, llama_pos p0, llama_pos p1, llama_seq_id scratch, uint8_t *dst, size_t size);
size_t pc_copy_in(pc_context *c, llama_seq_id seq, llama_seq_id scratch, const uint8_t *src, size_t size);

// The least that a program can do with llama.cpp, to measure the engine
// against: a context of its own without callbacks, the tokens in batches of
// n_batch, then as many greedy tokens as asked. Once to warm up, once timed.
typedef struct pc_bare_times {
	int64_t prefill_ns, decode_ns;
} pc_bare_times;
int32_t pc_bare(struct llama_model *model, struct llama_context_params params, const llama_token *tokens, int32_t n, int32_t generate, pc_bare_times *times);

#ifdef __cplusplus
}
#endif

#endif // PERCACHED_BRIDGE_H
