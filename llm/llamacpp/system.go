//go:build system_llama

package llamacpp

/*
#cgo pkg-config: llama
#cgo CPPFLAGS: -DPC_SYSTEM_LLAMA
#cgo linux LDFLAGS: -ldl
#include "bridge.h"
*/
import "C"

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"unsafe"

	"github.com/percached/percached/internal/base/fault"
)

// installed reports whether llama.cpp is an installed library.
const installed = true

// engineVersion identifies the engine in fingerprints. Tensors of another build, other
// devices or another split between devices may differ in their last bits. The library's
// files identify the build, because a distribution's patch or other compiler flags change
// no version.
func engineVersion(gpuLayers int) string {
	setUp()
	var b strings.Builder
	fmt.Fprintf(&b, "llama.cpp %s, ggml %s %s, %s", C.GoString(C.pc_library_version()), C.GoString(C.ggml_version()),
		C.GoString(C.ggml_commit()), C.GoString(C.llama_print_system_info()))
	for _, d := range devices() {
		fmt.Fprintf(&b, ", %s", d.name)
	}
	for _, file := range libraryFiles() {
		if st, err := os.Stat(file); err == nil {
			fmt.Fprintf(&b, ", %s %d %d", filepath.Base(file), st.Size(), st.ModTime().UnixNano())
		}
	}
	fmt.Fprintf(&b, ", layers on GPU: %d", gpuLayers)
	return b.String()
}

func libraryFiles() []string {
	buf := make([]byte, 64<<10)
	n := C.pc_library_files((*C.char)(unsafe.Pointer(&buf[0])), C.int32_t(len(buf)))
	return strings.Split(strings.TrimSpace(string(buf[:n])), "\n")
}

// Library describes llama.cpp for people.
func Library() string {
	setUp()
	var names []string
	for _, d := range devices() {
		names = append(names, d.name)
	}
	version := C.GoString(C.pc_library_version())
	if version == "" {
		version = "of unknown version"
	}
	return fmt.Sprintf("installed, %s (ggml %s); devices: %s", version, C.GoString(C.ggml_version()), strings.Join(names, ", "))
}

// usableLibrary refuses a library other than the one compiled against.
func usableLibrary() error {
	setUp()
	const op = "llamacpp: start"
	if why := C.pc_library_fault(); why != nil {
		return fault.New(fault.Unsupported, op, "the installed llama.cpp cannot be used: %s", C.GoString(why))
	}
	made, have := C.GoString(C.pc_library_made_for()), C.GoString(C.pc_library_version())
	if made != "" && have != "" && made != have {
		return fault.New(fault.Unsupported, op, "percached was built for llama.cpp %s and finds %s: build it again with make build LLAMA=system", made, have)
	}
	return nil
}

// devices are all devices of llama.cpp.
func devices() []gpu {
	var all []gpu
	var d C.pc_device
	for i := C.int32_t(0); bool(C.pc_device_at(i, &d)); i++ {
		all = append(all, gpu{
			name:     fmt.Sprintf("%s (%s)", C.GoString(&d.name[0]), C.GoString(&d.description[0])),
			computes: bool(d.gpu), shared: bool(d.shared), room: int64(d.room),
		})
	}
	return all
}

// gpus are the computing devices besides the CPU.
func gpus() []gpu {
	setUp()
	return chooseGPUs(devices())
}

// noGPU is why there is no GPU.
func noGPU() string {
	return "the installed llama.cpp finds no GPU: install one of its GPU backends (CUDA, Vulkan, ...), or set gpu-layers to 0"
}

// leftOut is why llama.cpp writes incomplete states of an architecture; empty: it writes
// complete ones.
func leftOut(architecture string) string {
	if architecture == "llama4" {
		return "this llama.cpp leaves out of a state the tokens before the model's current chunk of attention"
	}
	return ""
}
