#include "bridge.h"
#include "guarded.h"
#include "late.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <string>
#include <utility>
#include <vector>

#if defined(__linux__) || defined(__APPLE__)
#include <sys/mman.h>
#include <unistd.h>
#endif

namespace {

// llama.cpp logs through one callback per process, from any thread.
std::mutex errors_mutex;
std::string errors;
constexpr size_t errors_max = 2000;

void on_log(enum ggml_log_level level, const char *text, void *) {
	if (level == GGML_LOG_LEVEL_ERROR) {
		pc_keep_error(text);
	}
}

bool on_progress(float progress, void *data) {
	pc_flags *flags = static_cast<pc_flags *>(data);
	__atomic_store_n(&flags->progress, int32_t(progress * 1000), __ATOMIC_RELAXED);
	return __atomic_load_n(&flags->stop, __ATOMIC_RELAXED) == 0;
}

bool on_abort(void *data) {
	return __atomic_load_n(&static_cast<pc_flags *>(data)->stop, __ATOMIC_RELAXED) != 0;
}

} // namespace

void pc_keep_error(const char *text) {
	std::lock_guard<std::mutex> lock(errors_mutex);
	if (errors.size() < errors_max) {
		errors += text;
	}
}

struct pc_context {
	llama_context *ctx   = nullptr;
	llama_memory_t mem   = nullptr;
	llama_batch    batch = {};
	ggml_threadpool_t threads = nullptr;
	int32_t        last  = 0; // index of the last token of the last batch
	uint16_t      *room  = nullptr; // for queries, during one pc_decode only
	pc_queries     shape = {};
	bool           unfit = false; // the queries of the last batch did not fit
	bool           fetch = false; // experts, as soon as they are chosen
	std::vector<float> row;

	void fill(const llama_token *tokens, int32_t n, llama_pos pos, llama_seq_id seq) {
		batch.n_tokens = n;
		for (int32_t i = 0; i < n; i++) {
			batch.token[i]     = tokens[i];
			batch.pos[i]       = pos + i;
			batch.n_seq_id[i]  = 1;
			batch.seq_id[i][0] = seq;
			batch.logits[i]    = false;
		}
	}
};

namespace {

// Asks the system to read the chosen experts of a layer. It reads whole experts at once, while a
// page fault reads pages that are not needed, or too few.
void fetch_experts(const struct ggml_tensor *experts, const struct ggml_tensor *chosen) {
#if defined(__linux__) || defined(__APPLE__)
	const uintptr_t page = uintptr_t(sysconf(_SC_PAGESIZE));
	std::vector<bool> seen(size_t(experts->ne[2]));
	for (int64_t token = 0; token < chosen->ne[1]; token++) {
		for (int64_t i = 0; i < chosen->ne[0]; i++) {
			int32_t id;
			std::memcpy(&id, static_cast<const char *>(chosen->data) + token * chosen->nb[1] + i * chosen->nb[0], sizeof(id));
			if (id < 0 || id >= experts->ne[2] || seen[size_t(id)]) {
				continue;
			}
			seen[size_t(id)] = true;
			const uintptr_t at = uintptr_t(experts->data) + size_t(id) * experts->nb[2];
			const uintptr_t from = at & ~(page - 1);
			(void)posix_madvise(reinterpret_cast<void *>(from), at + experts->nb[2] - from, POSIX_MADV_WILLNEED);
		}
	}
#else
	(void)experts;
	(void)chosen;
#endif
}

// Experts are chosen by the nodes "ffn_moe_topk-<layer>". The nodes behind that use them are
// asked for after it is computed and before they are.
bool on_expert_node(const struct ggml_tensor *t) {
	constexpr char chosen[] = "ffn_moe_topk-";
	const auto chooses = [&](const struct ggml_tensor *n) { return std::strncmp(n->name, chosen, sizeof(chosen) - 1) == 0; };
	if (t->src[0] != nullptr && t->src[2] != nullptr && chooses(t->src[2]) && std::strstr(t->src[0]->name, "_exps.weight") != nullptr) {
		fetch_experts(t->src[0], t->src[2]);
	}
	return chooses(t);
}

// Queries after rotation are the nodes "Qcur-<layer>" made by the rope.
bool on_node(struct ggml_tensor *t, bool ask, void *data) {
	pc_context *c = static_cast<pc_context *>(data);
	if (ask && c->fetch && on_expert_node(t)) {
		return true;
	}
	if (c->room == nullptr || t->op != GGML_OP_ROPE || std::strncmp(t->name, "Qcur-", 5) != 0) {
		return !ask; // asked: not needed; told: go on
	}
	if (ask) {
		return true;
	}
	const pc_queries &q = c->shape;
	const int layer  = std::atoi(t->name + 5);
	const int64_t n  = t->ne[2];
	const bool fits  = layer >= 0 && layer < q.layers && t->type == GGML_TYPE_F32 &&
		t->ne[0] * t->ne[1] == q.width && q.at + n <= q.tokens && t->nb[2] == sizeof(float) * q.width;
	if (!fits) {
		pc_keep_error("queries have an unexpected shape");
		c->unfit = true;
		return true;
	}
	c->row.resize(size_t(n) * q.width);
	ggml_backend_tensor_get(t, c->row.data(), 0, c->row.size() * sizeof(float));
	uint16_t *dst = c->room + (int64_t(layer) * q.tokens + q.at) * q.width;
	ggml_fp32_to_fp16_row(c->row.data(), dst, int64_t(c->row.size()));
	return true;
}

} // namespace

void pc_init(void) {
	llama_log_set(on_log, nullptr);
#ifdef PC_SYSTEM_LLAMA
	pc_load_backends();
#endif
	llama_backend_init();
}

int32_t pc_take_errors(char *buf, int32_t size) {
	std::lock_guard<std::mutex> lock(errors_mutex);
	const size_t n = std::min(errors.size(), size_t(size));
	std::memcpy(buf, errors.data(), n);
	errors.clear();
	return int32_t(n);
}

struct llama_model *pc_model_load(const char *path, pc_flags *flags, int32_t gpu_layers, bool mapped) {
	return guarded<llama_model *>(nullptr, [&] {
		llama_model_params p = llama_model_default_params();
		p.progress_callback           = on_progress;
		p.progress_callback_user_data = flags;
		p.use_extra_bufts             = !mapped;
#ifdef PC_SYSTEM_LLAMA
		pc_place_layers(&p, gpu_layers);
#else
		(void)gpu_layers; // there is no GPU
#endif
		return llama_model_load_from_file(path, p);
	});
}

pc_context *pc_context_new(struct llama_model *model, struct llama_context_params p, pc_flags *flags, bool watch_queries, bool fetch_experts) {
	late_backends late; // of a context that fails half-way
	return guarded<pc_context *>(nullptr, [&]() -> pc_context * {
		pc_context *c = new pc_context;
		p.abort_callback      = on_abort;
		p.abort_callback_data = flags;
		c->fetch = fetch_experts;
		if (watch_queries || fetch_experts) {
			p.cb_eval           = on_node;
			p.cb_eval_user_data = c;
		}
		c->ctx = llama_init_from_model(model, p);
		if (c->ctx == nullptr) {
			delete c;
			return nullptr;
		}
		c->mem   = llama_get_memory(c->ctx);
		c->batch = llama_batch_init(int32_t(p.n_batch), 0, 1);
		c->threads = pc_attach_threads(c->ctx, p.n_threads);
		return c;
	});
}

// Made anew for every batch, as llama.cpp does by itself, threads cost a few
// percent of each token. These look for work for some milliseconds and then
// sleep.
ggml_threadpool_t pc_attach_threads(struct llama_context *ctx, int32_t n) {
	ggml_threadpool_params p = ggml_threadpool_params_default(n);
	p.poll = 1;
	ggml_threadpool_t threads = ggml_threadpool_new(&p);
	llama_attach_threadpool(ctx, threads, threads);
	return threads;
}

void pc_context_free(pc_context *c) {
	late_backends late;
	llama_batch_free(c->batch);
	llama_free(c->ctx);
	ggml_threadpool_free(c->threads);
	delete c;
}

struct llama_context *pc_llama(pc_context *c) { return c->ctx; }

int32_t pc_tokenize(const struct llama_vocab *vocab, const char *text, int32_t len, llama_token *tokens, int32_t max, bool framed, bool special) {
	return guarded<int32_t>(INT32_MIN, [&] { return llama_tokenize(vocab, text, len, tokens, max, framed, special); });
}

int32_t pc_apply_template(const char *tmpl, const char *system, const char *user, char *buf, int32_t size) {
	return guarded<int32_t>(PC_THREW, [&] {
		llama_chat_message chat[2];
		size_t n = 0;
		if (system != nullptr) {
			chat[n++] = {"system", system};
		}
		chat[n++] = {"user", user};
		return llama_chat_apply_template(tmpl, chat, n, true, buf, size);
	});
}

int32_t pc_decode(pc_context *c, const llama_token *tokens, int32_t n, llama_pos pos, llama_seq_id seq, bool logits, uint16_t *room, pc_queries shape) {
	c->fill(tokens, n, pos, seq);
	c->batch.logits[n - 1] = logits;
	c->last  = n - 1;
	c->room  = room;
	c->shape = shape;
	c->unfit = false;
	const int32_t rc = guarded<int32_t>(PC_THREW, [&] { return llama_decode(c->ctx, c->batch); });
	c->room = nullptr;
	return rc == 0 && c->unfit ? PC_THREW : rc;
}

#ifndef PC_SYSTEM_LLAMA
int32_t pc_vector_width(const struct llama_model *model) { return llama_model_n_embd(model); }
#endif

int32_t pc_embed(pc_context *c, const llama_token *tokens, int32_t n) {
	c->fill(tokens, n, 0, 0);
	std::memset(c->batch.logits, 1, size_t(n)); // pooling wants them all
	if (c->mem != nullptr) {
		llama_memory_clear(c->mem, false);
	}
	return guarded<int32_t>(PC_THREW, [&] { return llama_decode(c->ctx, c->batch); });
}

// The highest of the scores, or NaN if one is not a number.
static float highest(const float *l, int32_t vocabulary) {
	// Lanes side by side, which compilers make vectors of. A sum shows what is no number.
	constexpr int32_t lanes = 32;
	float best[lanes], sum[lanes] = {};
	std::fill(best, best + lanes, -INFINITY);
	int32_t i = 0;
	for (; i + lanes <= vocabulary; i += lanes) {
		for (int32_t j = 0; j < lanes; j++) {
			best[j] = l[i + j] > best[j] ? l[i + j] : best[j];
			sum[j] += l[i + j] == l[i + j] ? 0.0f : 1.0f;
		}
	}
	float max = *std::max_element(best, best + lanes);
	float wrong = *std::max_element(sum, sum + lanes);
	for (; i < vocabulary; i++) {
		max = std::max(max, l[i]);
		wrong += l[i] == l[i] ? 0.0f : 1.0f;
	}
	return wrong > 0 ? NAN : max;
}

// The best of the scores behind the i-th token of the last batch, or PC_NOT_FINITE.
static int32_t argmax(pc_context *c, int32_t at, int32_t vocabulary) {
	const float *l = guarded<const float *>(nullptr, [&] { return llama_get_logits_ith(c->ctx, at); });
	if (l == nullptr) {
		return PC_NOT_FINITE;
	}
	const float max = highest(l, vocabulary);
	return std::isfinite(max) ? int32_t(std::find(l, l + vocabulary, max) - l) : PC_NOT_FINITE;
}

int32_t pc_argmax(pc_context *c, int32_t vocabulary) { return argmax(c, c->last, vocabulary); }

int32_t pc_check(pc_context *c, const llama_token *tokens, int32_t n, llama_pos pos, llama_seq_id seq, int32_t vocabulary, int32_t *best) {
	c->fill(tokens, n, pos, seq);
	std::memset(c->batch.logits, 1, size_t(n));
	c->last = n - 1;
	const int32_t rc = guarded<int32_t>(PC_THREW, [&] { return llama_decode(c->ctx, c->batch); });
	for (int32_t i = 0; rc == 0 && i < n; i++) {
		best[i] = argmax(c, i, vocabulary);
	}
	return rc;
}

int32_t pc_decode_each(pc_context *c, const llama_token *tokens, const llama_pos *pos, const llama_seq_id *seqs, int32_t n, int32_t scored) {
	c->fill(tokens, n, 0, 0);
	for (int32_t i = 0; i < n; i++) {
		c->batch.pos[i]       = pos[i];
		c->batch.seq_id[i][0] = seqs[i];
		c->batch.logits[i]    = i >= n - scored;
	}
	c->last = n - 1;
	return guarded<int32_t>(PC_THREW, [&] { return llama_decode(c->ctx, c->batch); });
}

int32_t pc_best(const float *l, int32_t vocabulary, llama_token *best, float *logs, int32_t n, float *norm) {
	const float max = highest(l, vocabulary);
	if (!std::isfinite(max)) {
		return PC_NOT_FINITE;
	}
	// All scores this far below the highest add less than a thousandth to the sum.
	constexpr float far = 20;
	n = std::min(n, vocabulary);
	return guarded<int32_t>(PC_THREW, [&] {
		typedef std::pair<float, int32_t> entry; // a score, and the token negated: the lower token is better
		std::vector<entry> heap;                 // of the best so far, the worst first
		heap.reserve(size_t(n) + 1);
		float sum = 0, least = -INFINITY;
		for (int32_t i = 0; i < vocabulary; i++) {
			if (l[i] > max - far) {
				sum += std::exp(l[i] - max);
			}
			if (int32_t(heap.size()) < n || l[i] > least) {
				heap.emplace_back(l[i], -i);
				std::push_heap(heap.begin(), heap.end(), std::greater<entry>());
				if (int32_t(heap.size()) > n) {
					std::pop_heap(heap.begin(), heap.end(), std::greater<entry>());
					heap.pop_back();
				}
				least = heap.front().first;
			}
		}
		*norm = max + std::log(sum);
		std::sort(heap.begin(), heap.end(), std::greater<entry>());
		for (int32_t i = 0; i < n; i++) {
			best[i] = -heap[size_t(i)].second;
			logs[i] = heap[size_t(i)].first - *norm;
		}
		return n;
	});
}

void pc_clear(pc_context *c, bool data) { llama_memory_clear(c->mem, data); }

size_t pc_copy_out(pc_context *c, llama_seq_id seq, llama_pos p0, llama_pos p1, llama_seq_id scratch, uint8_t *dst, size_t size) {
	llama_memory_seq_cp(c->mem, seq, scratch, p0, p1);
	const size_t n = guarded<size_t>(0, [&] { return llama_state_seq_get_data(c->ctx, dst, size, scratch); });
	llama_memory_seq_rm(c->mem, scratch, -1, -1);
	return n;
}

size_t pc_copy_in(pc_context *c, llama_seq_id seq, llama_seq_id scratch, const uint8_t *src, size_t size) {
	const size_t n = guarded<size_t>(0, [&] { return llama_state_seq_set_data(c->ctx, src, size, scratch); });
	if (n == size) {
		llama_memory_seq_cp(c->mem, scratch, seq, -1, -1);
	}
	llama_memory_seq_rm(c->mem, scratch, -1, -1);
	return n;
}
