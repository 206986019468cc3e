//go:build !system_llama

package llamacpp

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const llamaModule = "github.com/ollama/ollama"

// realHeaders are the module's own, in the order in which they are included.
const realHeaders = "#include <stddef.h>\n#include \"llama.h\"\n#include \"ggml.h\"\n#include \"ggml-backend.h\"\n"

// goSays runs the go command.
func goSays(t *testing.T, args ...string) string {
	t.Helper()
	out, err := exec.Command("go", args...).Output()
	if err != nil {
		t.Skipf("go %s: %v", strings.Join(args, " "), err)
	}
	return strings.TrimSpace(string(out))
}

// A cCompiler compiles files of a folder of its own against the module's
// headers, or against an abi.h that was written there.
type cCompiler struct {
	cc   []string
	dir  string
	real []string // include flags
}

func newCCompiler(t *testing.T) *cCompiler {
	t.Helper()
	cc := strings.Fields(goSays(t, "env", "CC"))
	if len(cc) == 0 {
		t.Skip("go env CC names no C compiler")
	}
	if _, err := exec.LookPath(cc[0]); err != nil {
		t.Skipf("no C compiler: %v", err)
	}
	module := goSays(t, "list", "-m", "-f", "{{.Dir}}", llamaModule)
	if module == "" {
		t.Skipf("the folder of %s is not known", llamaModule)
	}
	c := &cCompiler{cc: cc, dir: t.TempDir()}
	for _, folder := range []string{"llama/llama.cpp/include", "ml/backend/ggml/ggml/include"} {
		c.real = append(c.real, "-I"+filepath.Join(module, filepath.FromSlash(folder)))
	}
	return c
}

// run compiles a source file with flags; what the compiler said is the error.
func (c *cCompiler) run(t *testing.T, source string, flags ...string) error {
	t.Helper()
	file := filepath.Join(c.dir, "try.c")
	if err := os.WriteFile(file, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	args := append(slices.Clone(c.cc[1:]), "-Werror", "-Wno-deprecated-declarations")
	if !slices.Contains(flags, "-xc++") {
		args = append(args, "-std=gnu11")
	}
	args = append(append(args, flags...), file)
	out, err := exec.Command(c.cc[0], args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w:\n%s", err, out)
	}
	return nil
}

// measures are the lines that a program prints.
func (c *cCompiler) measures(t *testing.T, source string, flags ...string) (string, error) {
	t.Helper()
	bin := filepath.Join(c.dir, "try")
	if err := c.run(t, source, append(flags, "-o", bin)...); err != nil {
		return "", err
	}
	out, err := exec.Command(bin).Output()
	return string(out), err
}

// writeABI puts a version of abi.h where the compiler finds it, and gives the
// flags for it.
func (c *cCompiler) writeABI(t *testing.T, text string) []string {
	t.Helper()
	if err := os.WriteFile(filepath.Join(c.dir, "abi.h"), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return []string{"-I" + c.dir}
}

// declared is everything that abi.h says.
type declared struct {
	structs   map[string][]string // fields
	enums     []string            // with a name
	constants []string
	typedefs  []string // whole lines
	types     []string // their names
	functions []string
}

var (
	commentRE  = regexp.MustCompile(`//[^\n]*`)
	structRE   = regexp.MustCompile(`struct (\w+) \{([^{}]*)\}`)
	enumRE     = regexp.MustCompile(`enum (\w* ?)\{([^{}]*)\}`)
	fieldRE    = regexp.MustCompile(`^[\w ]+[ *]+(\w+)(?:\[\d+\])?$`)
	constantRE = regexp.MustCompile(`^(\w+)\s*=`)
	typedefRE  = regexp.MustCompile(`(?m)^typedef [^{}\n]*?(\w+)(?:\)\([^\n]*\))?;$`)
	functionRE = regexp.MustCompile(`[ *]((?:llama|ggml)_\w+)\(`)
)

const onlyMark = "PERCACHED_ABI_PROTOTYPES_ONLY"

// readABI reads what abi.h declares. A way to write C that it does not know
// fails, so that nothing escapes the comparison.
func readABI(t *testing.T, text string) declared {
	t.Helper()
	parts := strings.Split(text, onlyMark) // #ifndef X types #endif // X prototypes
	if len(parts) != 3 {
		t.Fatalf("abi.h has %d parts around %s instead of 3", len(parts), onlyMark)
	}
	types, prototypes := commentRE.ReplaceAllString(parts[1], ""), commentRE.ReplaceAllString(parts[2], "")
	d := declared{structs: map[string][]string{}}
	blocks := 0
	for _, m := range structRE.FindAllStringSubmatch(types, -1) {
		blocks++
		for f := range strings.SplitSeq(m[2], ";") {
			if f = strings.TrimSpace(f); f == "" {
				continue
			}
			name := fieldRE.FindStringSubmatch(f)
			if name == nil {
				t.Fatalf("abi.h: struct %s has a field %q that this test cannot read", m[1], f)
			}
			d.structs[m[1]] = append(d.structs[m[1]], name[1])
		}
	}
	for _, m := range enumRE.FindAllStringSubmatch(types, -1) {
		blocks++
		if name := strings.TrimSpace(m[1]); name != "" {
			d.enums = append(d.enums, name)
		}
		for f := range strings.SplitSeq(m[2], ",") {
			if f = strings.TrimSpace(f); f == "" {
				continue
			}
			name := constantRE.FindStringSubmatch(f)
			if name == nil {
				t.Fatalf("abi.h: enum %s has a constant %q that this test cannot read", m[1], f)
			}
			d.constants = append(d.constants, name[1])
		}
	}
	if n := strings.Count(types, "{"); n != blocks {
		t.Fatalf("abi.h has %d blocks, this test reads %d of them", n, blocks)
	}
	for _, m := range typedefRE.FindAllStringSubmatch(types, -1) {
		d.typedefs, d.types = append(d.typedefs, m[0]), append(d.types, m[1])
	}
	if n := strings.Count(types, "typedef "); n != len(d.types)+1 { // one is of a struct
		t.Fatalf("abi.h has %d types, this test reads %d of them", n, len(d.types))
	}
	for _, m := range functionRE.FindAllStringSubmatch(prototypes, -1) {
		d.functions = append(d.functions, m[1])
	}
	if n := strings.Count(prototypes, ");"); n != len(d.functions) {
		t.Fatalf("abi.h has %d prototypes, this test reads %d of them", n, len(d.functions))
	}
	return d
}

// printer is a program that prints every measure: sizes, places and kinds
// (number, fraction, pointer, record) of fields, and constants.
func (d *declared) printer(headers string) string {
	var b strings.Builder
	b.WriteString("#include <stdio.h>\n#include <stddef.h>\n" + headers + "int main(void) {\n")
	for _, s := range slices.Sorted(maps.Keys(d.structs)) {
		fmt.Fprintf(&b, "printf(\"struct %s: %%zu bytes\\n\", sizeof(struct %s));\n", s, s)
		for _, f := range d.structs[s] {
			fmt.Fprintf(&b, "{ struct %s x; printf(\"%s.%s: at %%zu, %%zu bytes, kind %%d\\n\", offsetof(struct %s, %s), sizeof(x.%s), __builtin_classify_type(x.%s)); }\n",
				s, s, f, s, f, f, f)
		}
	}
	for _, e := range d.enums {
		fmt.Fprintf(&b, "printf(\"enum %s: %%zu bytes\\n\", sizeof(enum %s));\n", e, e)
	}
	for _, c := range d.constants {
		fmt.Fprintf(&b, "printf(\"%s: %%d\\n\", (int)%s);\n", c, c)
	}
	b.WriteString("return 0; }\n")
	return b.String()
}

// differences between a version of abi.h and the module's headers; nil if none.
func differences(t *testing.T, c *cCompiler, text string) error {
	t.Helper()
	d := readABI(t, text)
	ours, err := c.measures(t, d.printer("#include \"abi.h\"\n"), c.writeABI(t, text)...)
	if err != nil {
		return fmt.Errorf("abi.h: %w", err)
	}
	theirs, err := c.measures(t, d.printer(realHeaders), c.real...)
	if err != nil {
		return fmt.Errorf("the module's headers: %w", err)
	}
	if ours != theirs {
		a, b := strings.Split(ours, "\n"), strings.Split(theirs, "\n")
		for i := range a {
			if a[i] != b[i] {
				return fmt.Errorf("abi.h has %q, the module %q", a[i], b[i])
			}
		}
	}
	// Functions that the module does not declare, types of another meaning,
	// and prototypes that conflict are errors of the compiler.
	var known strings.Builder
	known.WriteString(realHeaders + strings.Join(d.typedefs, "\n") + "\nvoid *known[] = {\n")
	for _, f := range d.functions {
		fmt.Fprintf(&known, "(void *)&%s,\n", f)
	}
	known.WriteString("};\n")
	if err := c.run(t, known.String(), append(slices.Clone(c.real), "-fsyntax-only")...); err != nil {
		return fmt.Errorf("functions and types: %w", err)
	}
	again := realHeaders + "#define " + onlyMark + "\n#include \"abi.h\"\n"
	flags := append(append(slices.Clone(c.real), "-I"+c.dir), "-fsyntax-only")
	if err := c.run(t, again, flags...); err != nil {
		return fmt.Errorf("prototypes: %w", err)
	}
	return nil
}

func abiText(t *testing.T) string {
	t.Helper()
	b, err := os.ReadFile("abi.h")
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// abi.h declares what the linked llama.cpp is.
func TestABI(t *testing.T) {
	c := newCCompiler(t)
	if err := differences(t, c, abiText(t)); err != nil {
		t.Fatal(err)
	}
}

// Each kind of mistake in abi.h is found.
func TestABIMistakesAreFound(t *testing.T) {
	c := newCCompiler(t)
	text := abiText(t)
	for name, m := range map[string][2]string{
		"fields swapped":        {"uint32_t n_batch;\n\tuint32_t n_ubatch;", "uint32_t n_ubatch;\n\tuint32_t n_batch;"},
		"field missing":         {"\tbool use_mmap;\n", ""},
		"padding too short":     {"char padding[8];", ""},
		"whole for fraction":    {"float rope_freq_base;", "int32_t rope_freq_base;"},
		"constant":              {"GGML_OP_ROPE = 48", "GGML_OP_ROPE = 47"},
		"constant of an enum":   {"LLAMA_TOKEN_ATTR_CONTROL      = 1 << 3", "LLAMA_TOKEN_ATTR_CONTROL      = 1 << 2"},
		"callback":              {"(*ggml_abort_callback)(void *data)", "(*ggml_abort_callback)(int data)"},
		"result":                {"uint64_t llama_model_size(", "uint32_t llama_model_size("},
		"parameter":             {"size_t size, llama_seq_id dest);", "int32_t size, llama_seq_id dest);"},
		"parameter missing":     {"llama_memory_clear(llama_memory_t mem, bool data);", "llama_memory_clear(llama_memory_t mem);"},
		"function by no name":   {"void llama_free(", "void llama_set_free("},
		"constant by no name":   {"LLAMA_ROPE_TYPE_NORM   = 0,", "LLAMA_ROPE_TYPE_NORMAL = 0,"},
		"field of no such name": {"bool op_offload;", "bool op_offloaded;"},
	} {
		changed := strings.Replace(text, m[0], m[1], 1)
		if changed == text {
			t.Errorf("%s: abi.h has no %q any more", name, m[0])
		} else if err := differences(t, c, changed); err == nil {
			t.Errorf("%s: not found", name)
		}
	}
}

// sources are the files of the package that may call the bundled llama.cpp. amx.cpp only
// defines what it lacks.
func sources(t *testing.T) map[string]string {
	t.Helper()
	files := map[string]string{}
	for _, pattern := range []string{"*.go", "*.cpp", "*.c", "bridge.h"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			b, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasSuffix(name, "_test.go") && name != "amx.cpp" && name != "system.cpp" && name != "system.go" {
				files[name] = commentRE.ReplaceAllString(string(b), "")
			}
		}
	}
	return files
}

// abi.h is the one place that says what is used of llama.cpp: all that is
// called is there, and nothing else is.
func TestABIIsWhatIsUsed(t *testing.T) {
	d := readABI(t, abiText(t))
	used := map[string]bool{}
	for name, text := range sources(t) {
		if strings.Contains(text, "\"llama.h\"") || strings.Contains(text, "\"ggml") {
			t.Errorf("%s includes a header of llama.cpp: its interface comes from abi.h alone", name)
		}
		re := regexp.MustCompile(`(?:^|[^\w"])((?:llama|ggml)_\w+)\(`)
		if strings.HasSuffix(name, ".go") {
			re = regexp.MustCompile(`C\.((?:llama|ggml)_\w+)\(`)
		}
		for _, m := range re.FindAllStringSubmatch(text, -1) {
			used[m[1]] = true
			if slices.Contains(d.types, m[1]) {
				continue // a conversion
			}
			if !slices.Contains(d.functions, m[1]) {
				t.Errorf("%s calls %s, which abi.h does not declare", name, m[1])
			}
		}
	}
	for _, f := range d.functions {
		if !used[f] {
			t.Errorf("abi.h declares %s, which nothing calls", f)
		}
	}
}

// Fingerprints name the llama.cpp that is really linked.
func TestEngineVersion(t *testing.T) {
	want := llamaModule + " " + goSays(t, "list", "-m", "-f", "{{.Version}}", llamaModule)
	if bundledVersion != want {
		t.Fatalf("bundledVersion is %q, go.mod has %q", bundledVersion, want)
	}
}
