#include "bridge.h"
#include "guarded.h"
#include "late.h"

#include <algorithm>
#include <chrono>

namespace {

int64_t now_ns() {
	using namespace std::chrono;
	return duration_cast<nanoseconds>(steady_clock::now().time_since_epoch()).count();
}

int32_t decode(llama_context *ctx, llama_batch &b, const llama_token *tokens, int32_t n, int32_t pos, bool logits) {
	b.n_tokens = n;
	for (int32_t i = 0; i < n; i++) {
		b.token[i]     = tokens[i];
		b.pos[i]       = pos + i;
		b.n_seq_id[i]  = 1;
		b.seq_id[i][0] = 0;
		b.logits[i]    = logits && i == n - 1;
	}
	return guarded<int32_t>(PC_THREW, [&] { return llama_decode(ctx, b); });
}

} // namespace

int32_t pc_bare(struct llama_model *model, struct llama_context_params params, const llama_token *tokens, int32_t n, int32_t generate, pc_bare_times *times) {
	late_backends late;
	llama_context *ctx = guarded<llama_context *>(nullptr, [&] { return llama_init_from_model(model, params); });
	if (ctx == nullptr) {
		return -1;
	}
	ggml_threadpool_t threads = pc_attach_threads(ctx, params.n_threads);
	const int32_t split = int32_t(params.n_batch);
	const int32_t vocabulary = llama_vocab_n_tokens(llama_model_get_vocab(model));
	llama_batch b = llama_batch_init(split, 0, 1);
	int32_t rc = 0;
	for (int round = 0; round < 2 && rc == 0; round++) {
		llama_memory_clear(llama_get_memory(ctx), false);
		const int64_t start = now_ns();
		for (int32_t from = 0; from < n && rc == 0; from += split) {
			const int32_t to = std::min(from + split, n);
			rc = decode(ctx, b, tokens + from, to - from, from, to == n);
		}
		const int64_t middle = now_ns();
		for (int32_t i = 0; i < generate && rc == 0; i++) {
			const float *l = guarded<const float *>(nullptr, [&] { return llama_get_logits_ith(ctx, -1); });
			if (l == nullptr) {
				rc = PC_THREW;
				break;
			}
			const llama_token best = llama_token(std::max_element(l, l + vocabulary) - l);
			rc = decode(ctx, b, &best, 1, n + i, true);
		}
		times->prefill_ns = middle - start;
		times->decode_ns  = now_ns() - middle;
	}
	llama_batch_free(b);
	llama_free(ctx);
	ggml_threadpool_free(threads);
	return rc;
}
