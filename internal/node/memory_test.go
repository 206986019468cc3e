package node

import "testing"

// Uploads get enough memory for the largest document, but not all memory of a small machine.
func TestUploadMemory(t *testing.T) {
	for all, want := range map[int64]int64{0: 64 << 20, 512 << 20: 64 << 20, 2 << 30: 128 << 20, 64 << 30: 256 << 20} {
		if got := UploadMemory(all); got != want {
			t.Errorf("of %d: %d, want %d", all, got, want)
		}
	}
}
