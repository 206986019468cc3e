package main

import (
	"os"
	"path/filepath"
	"strings"

	"github.com/percached/percached/internal/base/fault"
	"github.com/percached/percached/internal/pull"
)

// pulled finds the file that --model or --embed-model names: itself, or the one
// that was pulled under that name into the folder of models.
func pulled(models, name string) (string, error) {
	if name == "" || strings.ContainsRune(name, os.PathSeparator) || strings.Contains(name, "/") {
		return name, nil
	}
	if info, err := os.Stat(name); err == nil && !info.IsDir() {
		return name, nil
	}
	name = strings.TrimSuffix(name, ".gguf")
	path := filepath.Join(models, name+".gguf")
	if _, err := os.Stat(path); err == nil {
		return path, nil
	}
	if _, listed := pull.Listed(name); listed {
		return "", fault.New(fault.NotFound, "percached: model", "the model %s is not here yet: percached pull %s fetches it", name, name)
	}
	return "", fault.New(fault.NotFound, "percached: model", "there is neither a file %s nor a pulled model of that name: percached pull --list shows what there is", name)
}
