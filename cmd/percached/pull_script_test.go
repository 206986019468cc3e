package main

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"strings"
	"sync/atomic"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/percached/percached/models"
)

// pullServer gives each script two servers with models, PULL_SERVER and the hub PULL_HUB, and
// the model's NANO_SHA256, NANO_BYTES, NANO_SIZE in MB, and NANO_REST, its bytes after two
// million.
func pullServer(env *testscript.Env) error {
	nano, err := os.ReadFile("../../models/nano.gguf")
	if err != nil {
		return err
	}
	sum := sha256.Sum256(nano)
	hash := hex.EncodeToString(sum[:])
	give := func(w http.ResponseWriter, r *http.Request, file []byte) {
		w.Header().Set("ETag", `"1"`)
		http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(file))
	}
	linked := func(hash string) http.HandlerFunc {
		return func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("X-Linked-Etag", strconv.Quote(hash))
			w.Header().Set("X-Linked-Size", strconv.Itoa(len(nano)))
			http.Redirect(w, r, "/nano.gguf?signature=secret", http.StatusFound)
		}
	}
	var flaky atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("/nano.gguf", func(w http.ResponseWriter, r *http.Request) { give(w, r, nano) })
	mux.HandleFunc("/vectors.gguf", func(w http.ResponseWriter, r *http.Request) { give(w, r, models.NanoEmbed()) })
	mux.HandleFunc("/plain/nano.gguf", func(w http.ResponseWriter, _ *http.Request) { // knows no ranges
		w.Header().Set("Content-Length", strconv.Itoa(len(nano)))
		_, _ = w.Write(nano)
	})
	mux.HandleFunc("/cut/nano.gguf", func(w http.ResponseWriter, r *http.Request) { give(&cutOff{w, 2_000_000}, r, nano) })
	mux.HandleFunc("/flaky/nano.gguf", func(w http.ResponseWriter, r *http.Request) {
		switch flaky.Add(1) {
		case 1:
			give(&cutOff{w, 2_000_000}, r, nano)
		case 2:
			w.WriteHeader(http.StatusForbidden)
		default:
			give(w, r, nano)
		}
	})
	mux.HandleFunc("/page.gguf", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "<html>") })
	mux.HandleFunc("/half.gguf", func(w http.ResponseWriter, r *http.Request) { give(w, r, nano[:len(nano)/2]) })
	mux.HandleFunc("/api/models/o/r", func(w http.ResponseWriter, _ *http.Request) {
		fmt.Fprint(w, `{"siblings": [{"rfilename": "README.md"}, {"rfilename": "a-q4.gguf"}, {"rfilename": "a-q8.gguf"}]}`)
	})
	mux.HandleFunc("/o/r/resolve/main/", linked(hash))
	mux.HandleFunc("/o/wrong/resolve/main/", linked(strings.Repeat("ab", 32)))
	mux.HandleFunc("/HuggingFaceTB/SmolLM2-360M-Instruct-GGUF/resolve/main/smollm2-360m-instruct-q8_0.gguf", linked(hash))
	for _, name := range []string{"PULL_SERVER", "PULL_HUB"} {
		s := httptest.NewServer(mux)
		env.Defer(s.Close)
		env.Setenv(name, s.URL)
	}
	env.Setenv("NANO_SHA256", hash)
	env.Setenv("NANO_BYTES", strconv.Itoa(len(nano)))
	env.Setenv("NANO_SIZE", fmt.Sprintf("%.1f MB", float64(len(nano))/1e6))
	env.Setenv("NANO_REST", strconv.Itoa(len(nano)-2_000_000))
	return nil
}

// cutOff is a response that is cut after a number of bytes.
type cutOff struct {
	http.ResponseWriter
	left int
}

func (s *cutOff) Write(b []byte) (int, error) {
	if len(b) <= s.left {
		s.left -= len(b)
		return s.ResponseWriter.Write(b)
	}
	if _, err := s.ResponseWriter.Write(b[:s.left]); err != nil {
		return 0, err
	}
	if err := http.NewResponseController(s.ResponseWriter).Flush(); err != nil {
		return 0, err
	}
	panic(http.ErrAbortHandler)
}
