package llamacpp

/*
#include "cpu_features.h"
*/
import "C"

import (
	"os"
	"runtime"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// CPUReport compares the CPU features of this binary with those of this machine, named as
// in /proc/cpuinfo.
type CPUReport struct {
	Arch      string   `json:"arch"`
	Model     string   `json:"model"`
	Compiler  string   `json:"compiler"`
	Compiled  []string `json:"compiled"`
	Available []string `json:"available"`
	Idle      []string `json:"idle"`    // available and useful, but not compiled in
	Missing   []string `json:"missing"` // compiled in, but not available
	Cure      string   `json:"cure"`    // what to do; empty if all is well
}

// worth lists the features that speed up llama.cpp's kernels.
var worth = []string{
	"avx", "avx2", "fma", "f16c", "avx_vnni", "avx512f", "avx512bw", "avx512vbmi", "avx512_vnni", "avx512_bf16",
	"asimd", "asimdhp", "asimddp", "i8mm", "sve",
}

// CPU makes the report without calling C.
func CPU() CPUReport {
	info, _ := os.ReadFile("/proc/cpuinfo")
	r := compareCPU(runtime.GOARCH, strings.Fields(C.PC_FEATURES), string(info))
	r.Compiler = C.PC_COMPILER
	if installed && len(r.Missing) == 0 {
		r.Idle, r.Cure = nil, "" // the kernels are the library's
	}
	return r
}

// compareCPU reads Linux's cpuinfo; on other systems it is empty and nothing is known.
func compareCPU(arch string, compiled []string, cpuinfo string) CPUReport {
	r := CPUReport{Arch: arch, Compiled: compiled}
	known, list := false, "flags"
	if arch == "arm64" {
		list = "Features" // an emulator may show the host's flags
	}
	for line := range strings.Lines(cpuinfo) {
		name, value, _ := strings.Cut(line, ":")
		switch strings.TrimSpace(name) {
		case "model name":
			r.Model = strings.TrimSpace(value)
		case list:
			known = true
			for _, f := range strings.Fields(value) {
				if slices.Contains(worth, f) || slices.Contains(compiled, f) {
					r.Available = append(r.Available, f)
				}
			}
		}
		if known && r.Available != nil {
			break
		}
	}
	if !known {
		return r
	}
	for _, f := range worth {
		if slices.Contains(r.Available, f) && !slices.Contains(compiled, f) {
			r.Idle = append(r.Idle, f)
		}
	}
	for _, f := range compiled {
		if !slices.Contains(r.Available, f) {
			r.Missing = append(r.Missing, f)
		}
	}
	switch {
	case len(r.Missing) > 0:
		r.Cure = "build on this machine with make build, or take a release for an older CPU"
	case len(r.Idle) > 0:
		r.Cure = "build with make build, which compiles for the CPU at hand"
	}
	return r
}

// usable refuses to start if the kernels would crash on an illegal instruction.
func (r CPUReport) usable() error {
	if len(r.Missing) == 0 {
		return nil
	}
	return fault.New(fault.Unsupported, "llamacpp: start",
		"this binary was compiled for CPU features that this machine lacks (%s): %s", strings.Join(r.Missing, ", "), r.Cure)
}
