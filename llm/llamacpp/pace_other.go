//go:build !linux

package llamacpp

func lookAtLoad() (load, bool) { return load{}, false }
