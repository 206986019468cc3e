#include "pack.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#ifdef __F16C__
#include <immintrin.h>
#endif

namespace {

constexpr size_t block      = 32; // numbers with one scale
constexpr size_t half       = 2;  // bytes
constexpr size_t block8     = half + block;
constexpr size_t block4     = half + block / 2;
constexpr size_t group_rows = 32; // about as many rows share a channel's scale

float from_half(uint16_t h) {
	const uint32_t sign = uint32_t(h & 0x8000) << 16, exponent = h >> 10 & 31, fraction = h & 1023;
	if (exponent == 0) {
		const float f = float(fraction) / float(1 << 24);
		return sign ? -f : f;
	}
	const uint32_t bits = sign | (exponent == 31 ? 255u : exponent + 112) << 23 | fraction << 13;
	float f;
	memcpy(&f, &bits, sizeof f);
	return f;
}

uint16_t to_half(float f) { // rounds to even; what is too large becomes the largest
	uint32_t bits;
	memcpy(&bits, &f, sizeof f);
	const uint16_t sign = bits >> 16 & 0x8000;
	const float a = std::fabs(f);
	if (a >= 65504) {
		return sign | 0x7bff;
	}
	if (a < 6.103515625e-05f) {
		return sign | uint16_t(std::nearbyint(a * float(1 << 24)));
	}
	bits &= 0x7fffffff;
	bits += 0xfff + (bits >> 13 & 1);
	return sign | uint16_t((bits >> 13) - (112u << 10));
}

float load_half(const uint8_t *b) { return from_half(uint16_t(b[0] | b[1] << 8)); }

void store_half(uint8_t *b, uint16_t h) {
	b[0] = uint8_t(h);
	b[1] = uint8_t(h >> 8);
}

// Whole vectors of numbers, as fast as the CPU allows: they are on a question's path.
void load_halves(const uint8_t *b, float *x, size_t n) {
	size_t i = 0;
#ifdef __F16C__
	for (; i + 8 <= n; i += 8) {
		_mm256_storeu_ps(x + i, _mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i *>(b + half * i))));
	}
#endif
	for (; i < n; i++) {
		x[i] = load_half(b + half * i);
	}
}

void store_halves(uint8_t *b, const float *x, size_t n) {
	size_t i = 0;
#ifdef __F16C__
	for (; i + 8 <= n; i += 8) {
		_mm_storeu_si128(reinterpret_cast<__m128i *>(b + half * i), _mm256_cvtps_ph(_mm256_loadu_ps(x + i), 0));
	}
#endif
	for (; i < n; i++) {
		store_half(b + half * i, to_half(x[i]));
	}
}

float steps(float x, float scale, float least, float most) {
	return std::clamp(std::nearbyint(x / scale), least, most);
}

void pack_block8(const float *x, uint8_t *out) {
	float most = 0;
	for (size_t i = 0; i < block; i++) {
		most = std::max(most, std::fabs(x[i]));
	}
	store_half(out, to_half(most / 127));
	const float scale = load_half(out);
	for (size_t i = 0; i < block; i++) {
		out[half + i] = scale == 0 ? 0 : uint8_t(int8_t(steps(x[i], scale, -127, 127)));
	}
}

// The scale is the one of some near the usual that loses least.
void pack_block4(const float *x, uint8_t *out) {
	float widest = 0;
	for (size_t i = 0; i < block; i++) {
		if (std::fabs(x[i]) > std::fabs(widest)) {
			widest = x[i];
		}
	}
	float best = INFINITY, scale = 0;
	for (int k = -8; k <= 8 && widest != 0; k++) {
		const float s = from_half(to_half(widest / -(8 + 0.1f * float(k))));
		float loss = 0;
		for (size_t i = 0; i < block && s != 0; i++) {
			const float d = steps(x[i], s, -8, 7) * s - x[i];
			loss += d * d;
		}
		if (s != 0 && loss < best) {
			best = loss, scale = s;
		}
	}
	store_half(out, to_half(scale));
	for (size_t i = 0; i < block / 2; i++) {
		const int low = scale == 0 ? 8 : int(steps(x[i], scale, -8, 7)) + 8;
		const int high = scale == 0 ? 8 : int(steps(x[i + block / 2], scale, -8, 7)) + 8;
		out[half + i] = uint8_t(low | high << 4);
	}
}

void unpack_block8(const uint8_t *in, float *x) {
	const float scale = load_half(in);
	for (size_t i = 0; i < block; i++) {
		x[i] = scale * float(int8_t(in[half + i]));
	}
}

void unpack_block4(const uint8_t *in, float *x) {
	const float scale = load_half(in);
	for (size_t i = 0; i < block / 2; i++) {
		const uint8_t b = in[half + i];
		x[i] = scale * float(int(b & 15) - 8);
		x[i + block / 2] = scale * float(int(b >> 4) - 8);
	}
}

// A channel of keys has its own range, often far from zero, and neighbours in a row
// differ in it. So a channel of a group has a scale and a least value.
struct range {
	float least, scale;
};

range channel_range(const float *x, size_t n, size_t stride) {
	float low = x[0], high = x[0];
	for (size_t i = 1; i < n; i++) {
		low = std::min(low, x[i * stride]);
		high = std::max(high, x[i * stride]);
	}
	range best = {from_half(to_half(low)), 0};
	float loss = INFINITY;
	for (int cut = 0; cut <= 3; cut++) {
		for (int shrink = 0; shrink <= 6; shrink++) {
			const range r = {
				from_half(to_half(low + (high - low) * 0.02f * float(cut))),
				from_half(to_half((high - low) * (1 - 0.02f * float(shrink)) / 15)),
			};
			float sum = 0;
			for (size_t i = 0; i < n && r.scale != 0; i++) {
				const float d = steps(x[i * stride] - r.least, r.scale, 0, 15) * r.scale + r.least - x[i * stride];
				sum += d * d;
			}
			if (r.scale != 0 && sum < loss) {
				loss = sum, best = r;
			}
		}
	}
	return best;
}

// Groups are of even size, so that none is a remainder of a few rows.
size_t groups(size_t n) { return std::max<size_t>(1, (n + group_rows / 2) / group_rows); }

size_t group_size(size_t rows, size_t width) { return width * (2 * half + (rows + 1) / 2); }

template <typename F> void each_group(size_t n, F f) {
	const size_t count = groups(n);
	for (size_t g = 0; g < count; g++) {
		f(n * g / count, n * (g + 1) / count);
	}
}

constexpr size_t tile = 64; // channels at a time, on the stack

void pack_group(const uint8_t *rows, size_t n, size_t width, uint8_t *out) {
	uint8_t *least = out, *scale = out + half * width, *numbers = scale + half * width;
	memset(numbers, 0, width * ((n + 1) / 2));
	float x[2 * group_rows];
	for (size_t c = 0; c < width; c++) {
		for (size_t i = 0; i < n; i++) {
			x[i] = load_half(rows + half * (i * width + c));
		}
		const range r = channel_range(x, n, 1);
		store_half(least + half * c, to_half(r.least));
		store_half(scale + half * c, to_half(r.scale));
		for (size_t i = 0; i < n; i++) {
			const int v = r.scale == 0 ? 0 : int(steps(x[i] - r.least, r.scale, 0, 15));
			numbers[i / 2 * width + c] |= uint8_t(i % 2 == 0 ? v : v << 4);
		}
	}
}

void unpack_group(const uint8_t *in, size_t n, size_t width, uint8_t *rows) {
	const uint8_t *numbers = in + 2 * half * width;
	for (size_t from = 0; from < width; from += tile) {
		const size_t w = std::min(tile, width - from);
		float least[tile], scale[tile], x[tile];
		load_halves(in + half * from, least, w);
		load_halves(in + half * (width + from), scale, w);
		for (size_t i = 0; i < n; i++) {
			const uint8_t *b = numbers + i / 2 * width + from;
			const int shift = i % 2 == 0 ? 0 : 4;
			for (size_t c = 0; c < w; c++) {
				x[c] = float(int(b[c] >> shift & 15)) * scale[c] + least[c];
			}
			store_halves(rows + half * (i * width + from), x, w);
		}
	}
}

template <typename F> void each_block(size_t n, size_t width, F f) {
	for (size_t b = 0; b < n * width / block; b++) {
		f(b);
	}
}

} // namespace

size_t pc_packed_size(pc_packing p, size_t n, size_t width) {
	size_t size = 0;
	switch (p) {
	case PC_BLOCK8: return n * width / block * block8;
	case PC_BLOCK4: return n * width / block * block4;
	case PC_CHANNEL4: each_group(n, [&](size_t from, size_t to) { size += group_size(to - from, width); });
	}
	return size;
}

void pc_pack(pc_packing p, const uint8_t *rows, size_t n, size_t width, uint8_t *packed) {
	float x[block];
	switch (p) {
	case PC_BLOCK8:
		return each_block(n, width, [&](size_t b) {
			load_halves(rows + half * block * b, x, block);
			pack_block8(x, packed + block8 * b);
		});
	case PC_BLOCK4:
		return each_block(n, width, [&](size_t b) {
			load_halves(rows + half * block * b, x, block);
			pack_block4(x, packed + block4 * b);
		});
	case PC_CHANNEL4:
		each_group(n, [&](size_t from, size_t to) {
			pack_group(rows + half * width * from, to - from, width, packed);
			packed += group_size(to - from, width);
		});
	}
}

void pc_unpack(pc_packing p, const uint8_t *packed, size_t n, size_t width, uint8_t *rows) {
	float x[block];
	switch (p) {
	case PC_BLOCK8:
		return each_block(n, width, [&](size_t b) {
			unpack_block8(packed + block8 * b, x);
			store_halves(rows + half * block * b, x, block);
		});
	case PC_BLOCK4:
		return each_block(n, width, [&](size_t b) {
			unpack_block4(packed + block4 * b, x);
			store_halves(rows + half * block * b, x, block);
		});
	case PC_CHANNEL4:
		each_group(n, [&](size_t from, size_t to) {
			unpack_group(packed, to - from, width, rows + half * width * from);
			packed += group_size(to - from, width);
		});
	}
}
