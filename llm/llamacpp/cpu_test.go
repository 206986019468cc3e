package llamacpp

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestCompareCPU(t *testing.T) {
	const (
		intel = "processor\t: 0\nmodel name\t: A CPU\nflags\t\t: fpu sse2 avx avx2 fma f16c avx_vnni\n\nprocessor\t: 1\nmodel name\t: A CPU\nflags\t\t: fpu sse2 avx avx2 fma f16c avx_vnni\n"
		pi4   = "processor\t: 0\nBogoMIPS\t: 108.00\nFeatures\t: fp asimd evtstrm crc32 cpuid\nCPU architecture: 8\n"
	)
	for _, tc := range []struct {
		name, arch, cpuinfo     string
		compiled, idle, missing []string
	}{
		{"all there", "amd64", intel, []string{"avx", "avx2", "fma", "f16c", "avx_vnni"}, nil, nil},
		{"an older one", "amd64", intel, []string{"avx2", "avx512f"}, []string{"avx", "fma", "f16c", "avx_vnni"}, []string{"avx512f"}},
		{"any ARM", "arm64", pi4, []string{"asimd"}, nil, nil},
		{"a later ARM", "arm64", pi4, []string{"asimd", "asimdhp", "asimddp"}, nil, []string{"asimdhp", "asimddp"}},
		{"ARM emulated on Intel", "arm64", intel, []string{"asimd"}, nil, nil},
		{"nothing known", "amd64", "", []string{"avx2"}, nil, nil},
	} {
		r := compareCPU(tc.arch, tc.compiled, tc.cpuinfo)
		if d := cmp.Diff([][]string{tc.idle, tc.missing}, [][]string{r.Idle, r.Missing}); d != "" {
			t.Errorf("%s: idle and missing (-want +got):\n%s", tc.name, d)
		}
		if (r.usable() == nil) != (tc.missing == nil) {
			t.Errorf("%s: %v", tc.name, r.usable())
		}
	}
}
