//go:build !linux

package llamacpp

func allowedCPUs() []int { return nil }

func (cores) bind() {}

func (cores) during(f func()) { f() }
