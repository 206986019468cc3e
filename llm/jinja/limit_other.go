//go:build !linux && !darwin

package jinja

func limit(_, _ uint64) {}
