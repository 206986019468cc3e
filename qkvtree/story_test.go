package qkvtree_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/percached/percached"
	"github.com/percached/percached/internal/base/kv"
	"github.com/percached/percached/qkvtree"
)

// story runs the commands of a file in testdata against a tree. Sizes are in slices: each
// has size 1 unless "*2" follows its name. Names are chunks; the system segment precedes
// them implicitly. "idle" before a command makes an idle request.
type story struct {
	t         *testing.T
	dir       string
	db        *kv.DB
	tree      *qkvtree.Tree
	out       strings.Builder
	names     map[percached.ChunkID]string
	space     string
	model     string
	placement percached.Placement
	idle      bool  // "idle" preceded the command
	unit      int64 // bytes of a slice with all its records
}

const storySlice = 2000 // bytes of tensors

func TestStories(t *testing.T) {
	files, err := filepath.Glob("testdata/*.story")
	if err != nil || len(files) == 0 {
		t.Fatal(err)
	}
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".story"), func(t *testing.T) {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			s := &story{t: t, dir: t.TempDir(), names: map[percached.ChunkID]string{{}: "system"}, space: "s", model: "m"}
			s.measure()
			s.open(0)
			got := s.run(string(text))
			if os.Getenv("PERCACHED_WRITE_STORIES") != "" {
				if err := os.WriteFile(file, []byte(got), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			if d := cmp.Diff(string(text), got); d != "" {
				t.Error(d)
			}
			clean(t, s.tree)
		})
	}
}

// measure finds the size of a slice.
func (s *story) measure() {
	tree := openTree(s.t, openDB(s.t, s.t.TempDir()), options(1<<20))
	r := request("s", "m", percached.Sequential)
	insert(s.t, tree, r, slicesOf(r, percached.KV, storySlice))
	tree.Nodes("s", func(n qkvtree.Info) { s.unit = n.Bytes })
}

func (s *story) open(limit int64) {
	s.db = openDB(s.t, s.dir)
	o := options(limit)
	o.Observer.Evicted = func(n qkvtree.Info) { fmt.Fprintf(&s.out, "evicted %s\n", s.name(n)) }
	o.Observer.Dropped = func(n qkvtree.Info, cause error) {
		_, why, _ := strings.Cut(cause.Error(), ": ")
		fmt.Fprintf(&s.out, "dropped %s: %s\n", s.name(n), why)
	}
	s.tree = openTree(s.t, s.db, o)
}

func (s *story) name(n qkvtree.Info) string {
	name := s.names[n.Chunk]
	if n.Space != s.space || n.Model != s.model {
		name += fmt.Sprintf(" (of %s, %s)", n.Space, n.Model)
	}
	return name
}

// run returns the story with the output of each command below it.
func (s *story) run(text string) string {
	var told strings.Builder
	for _, line := range strings.SplitAfter(text, "\n") {
		command := strings.TrimSpace(line)
		if strings.HasPrefix(line, "  ") {
			continue // what came of it last time
		}
		told.WriteString(line)
		if command == "" || command[0] == '#' {
			continue
		}
		s.out.Reset()
		s.do(strings.Fields(command))
		for l := range strings.Lines(s.out.String()) {
			told.WriteString("  " + l)
		}
	}
	return told.String()
}

func (s *story) do(words []string) {
	if s.idle = words[0] == "idle"; s.idle {
		words = words[1:]
	}
	args := words[1:]
	var err error
	switch words[0] {
	case "space":
		s.space = args[0]
	case "model":
		s.model = args[0]
	case "placement":
		s.placement = map[string]percached.Placement{"sequential": percached.Sequential, "parallel": percached.Parallel}[args[0]]
	case "limit":
		var n int64
		fmt.Sscan(args[0], &n)
		err = s.tree.SetLimit(n * s.unit)
	case "share": // part of the tree that the space may use
		var n int64
		if fmt.Sscan(args[0], &n); args[0] == "all" {
			n = -1
		}
		err = s.tree.SetSpaceLimit(s.space, n*s.unit)
	case "room":
		fmt.Fprintf(&s.out, "%.3g\n", float64(s.tree.FreeIn(s.space))/float64(s.unit))
	case "insert":
		r, slices := s.lay(args)
		refused := s.refused()
		err = s.tree.Insert(r, slices)
		if n := s.refused() - refused; s.idle && n > 0 {
			fmt.Fprintf(&s.out, "%d refused\n", n)
		}
	case "ask":
		r, _ := s.lay(args)
		var found []string
		err = s.tree.View(r, func(lent []*percached.Slice, _ qkvtree.Match) error {
			for i, l := range lent {
				if l != nil {
					found = append(found, s.names[r.Segments[i].Chunk])
				}
			}
			return nil
		})
		fmt.Fprintf(&s.out, "found %s\n", strings.Join(append(found, "")[:max(1, len(found))], " "))
	case "forget":
		s.gone(s.tree.Forget(s.space, s.chunks(args)))
	case "clear":
		s.gone(s.tree.Clear(s.space))
	case "spoil":
		s.spoil(args[0])
	case "reopen":
		st, e := s.tree.Stats()
		if err = e; err == nil {
			s.tree.Close()
			s.db.Close()
			s.open(st.Limit)
		}
	case "show":
		s.show()
	default:
		s.t.Fatalf("unknown command %q", words[0])
	}
	if err != nil {
		fmt.Fprintf(&s.out, "error: %v\n", err)
	}
}

func (s *story) refused() uint64 {
	st, err := s.tree.Stats()
	if err != nil {
		s.t.Fatal(err)
	}
	return st.Refused
}

func (s *story) chunks(names []string) (ids []percached.ChunkID) {
	for _, n := range names {
		s.names[chunk(n)] = n
		ids = append(ids, chunk(n))
	}
	return ids
}

func (s *story) gone(n int, bytes int64, err error) {
	fmt.Fprintf(&s.out, "%d gone, %.2g in size\n", n, float64(bytes)/float64(s.unit))
	if err != nil {
		fmt.Fprintf(&s.out, "error: %v\n", err)
	}
}

// lay makes a request; a name in parentheses has no slice.
func (s *story) lay(args []string) (qkvtree.Request, []*percached.Slice) {
	names, sizes, missing := []string{}, []int{storySlice}, []bool{false}
	for _, a := range args {
		inner := strings.Trim(a, "()")
		name, factor, large := strings.Cut(inner, "*")
		n := 1
		if large {
			fmt.Sscan(factor, &n)
		}
		if name == "system" {
			sizes[0], missing[0] = storySlice+(n-1)*int(s.unit), inner != a
			continue
		}
		names = append(names, name)
		sizes = append(sizes, storySlice+(n-1)*int(s.unit))
		missing = append(missing, inner != a)
	}
	s.chunks(names)
	r := request(s.space, s.model, s.placement, names...)
	r.Idle = s.idle
	slices := slicesOf(r, percached.KV, sizes...)
	for i, m := range missing {
		if m {
			slices[i] = nil
		}
	}
	return r, slices
}

// spoil damages the tensors of a chunk in the database.
func (s *story) spoil(name string) {
	var paths []percached.Path
	s.tree.Nodes(s.space, func(n qkvtree.Info) {
		if s.names[n.Chunk] == name && n.Model == s.model {
			paths = append(paths, n.Path)
		}
	})
	for _, p := range paths {
		spoil(s.t, s.db, 'P', s.model, p, func(b []byte) []byte { b[7] ^= 1; return b })
	}
}

func (s *story) show() {
	s.tree.Nodes(s.space, func(n qkvtree.Info) {
		fmt.Fprintf(&s.out, "%s%s hits %d priority %d\n", strings.Repeat("  ", n.Depth), s.name(n), n.Hits, n.Priority)
	})
	st, err := s.tree.Stats()
	if err != nil {
		s.t.Fatal(err)
	}
	fmt.Fprintf(&s.out, "%.3g of %.3g\n", float64(st.Bytes)/float64(s.unit), float64(st.Limit)/float64(s.unit))
}
