package durable

import (
	"fmt"
	"syscall"
)

// Room is an error, ENOSPC, if n bytes more would leave less than keep of the disk
// that holds a folder. Where nobody knows what is free there is room.
func Room(dir string, n, keep int64) error {
	if free, known := Free(dir); known && free-n < keep {
		return fmt.Errorf("the disk is full: %d MiB free, %d MiB to be kept: %w", free>>20, keep>>20, syscall.ENOSPC)
	}
	return nil
}
