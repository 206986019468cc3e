package llamacpp

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/percached/percached/internal/base/fault"
)

// sumFile is the file with a model file's hash; .sha256 may be the publisher's own.
func sumFile(model string) string { return model + ".percached-sum" }

// weightsHash is the SHA-256 of a model file. It is stored beside the file with the
// file's stamp, and reused while the stamp stays the same.
func weightsHash(ctx context.Context, path string) (string, error) {
	st, err := os.Stat(path)
	if err != nil {
		return "", fault.New(fault.NotFound, "llamacpp: hash weights", "%w", err)
	}
	stamp := stampOf(st)
	if b, err := os.ReadFile(sumFile(path)); err == nil {
		sum, rest, _ := strings.Cut(strings.TrimSpace(string(b)), " ")
		if raw, err := hex.DecodeString(sum); err == nil && len(raw) == sha256.Size && rest == stamp {
			return sum, nil
		}
	}
	f, err := os.Open(path)
	if err != nil {
		return "", fault.New(fault.Unavailable, "llamacpp: hash weights", "%w", err)
	}
	defer f.Close()
	h := sha256.New()
	for err = nil; err != io.EOF; {
		if ctx.Err() != nil {
			return "", fault.New(fault.Timeout, "llamacpp: hash weights", "%w", context.Cause(ctx))
		}
		if _, err = io.CopyN(h, f, 1<<20); err != nil && err != io.EOF {
			return "", fault.New(fault.Unavailable, "llamacpp: hash weights", "%w", err)
		}
	}
	sum := hex.EncodeToString(h.Sum(nil))
	keepBeside(path, sumFile(path), sum+" "+stamp+"\n")
	return sum, nil
}

// stampOf changes when a file does. A file's time can be set by anyone who creates or
// unpacks it; the system itself sets what changed returns.
func stampOf(st os.FileInfo) string {
	return fmt.Sprintf("%d %d", st.Size(), st.ModTime().UnixNano()) + changed(st)
}

// keepBeside writes a computed value to a file beside the model, atomically. If the
// folder is read-only, the next start only repeats the work.
func keepBeside(model, file, line string) {
	tmp, err := os.CreateTemp(filepath.Dir(model), ".*"+strings.TrimPrefix(file, model))
	if err != nil {
		return
	}
	_, err = tmp.WriteString(line)
	if cerr := tmp.Close(); err == nil {
		err = cerr
	}
	if err == nil {
		err = os.Rename(tmp.Name(), file)
	}
	if err != nil {
		os.Remove(tmp.Name())
	}
}

// fingerprint hashes everything that affects a model's tensors.
func fingerprint(parts ...any) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%v\n", p)
	}
	return hex.EncodeToString(h.Sum(nil))
}
