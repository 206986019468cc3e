// Smaller forms of keys and values, at the cost of exactness; see pack.go for the layout.
#ifndef PERCACHED_PACK_H
#define PERCACHED_PACK_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

// How the numbers of one layer are packed: rows of width numbers in half precision.
typedef enum pc_packing {
	PC_BLOCK8,   // blocks of 32 numbers of a row, 8 bits each: a scale, then the numbers
	PC_BLOCK4,   // the same with 4 bits
	PC_CHANNEL4, // groups of rows; for each channel in a group a scale and a least value
} pc_packing;

// The length of n packed rows. width is a multiple of 32.
size_t pc_packed_size(pc_packing p, size_t n, size_t width);
void pc_pack(pc_packing p, const uint8_t *rows, size_t n, size_t width, uint8_t *packed);
void pc_unpack(pc_packing p, const uint8_t *packed, size_t n, size_t width, uint8_t *rows);

#ifdef __cplusplus
}
#endif

#endif // PERCACHED_PACK_H
