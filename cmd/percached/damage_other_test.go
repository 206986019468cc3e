//go:build !linux

package main

import "testing"

func smallDisk(t *testing.T) string {
	t.Skip("no small disk can be made here")
	return ""
}
