package node

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/percached/percached/internal/base/durable"
	"github.com/percached/percached/internal/base/fault"
)

// PromptFiles are the prompt files of one space. The prompts of all spaces are in the
// parent folder.
type PromptFiles struct {
	dir   string
	plain bool // the space's name can be that of a folder
}

// promptName matches names of spaces that can be names of folders.
var promptName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// PromptFiles are the prompts of one space.
func (n *Node) PromptFiles(space string) PromptFiles {
	return PromptFiles{n.Home.Path("prompts", filepath.Base(space)), promptName.MatchString(space) && !IsPromptFile(space)}
}

// IsPromptFile says that a space has the name of a prompt file, so it can have no folder.
func IsPromptFile(space string) bool {
	name, ok := strings.CutSuffix(space, ".txt")
	return ok && slices.ContainsFunc(PromptFields(&Prompts{}), func(p promptField) bool { return p.Name == name })
}

// Prompts replace built-in prompts; nil keeps the built-in one.
type Prompts struct{ Instructions, Abstract, Knowledge, History *string }

// promptField is a field of Prompts and its name.
type promptField struct {
	Name string
	Text **string
}

// PromptFields returns the fields of p with their names.
func PromptFields(p *Prompts) []promptField {
	return []promptField{{"instructions", &p.Instructions}, {"abstract", &p.Abstract}, {"knowledge", &p.Knowledge}, {"history", &p.History}}
}

// Read returns the prompts of the space, or nil if it has none.
func (f PromptFiles) Read() (*Prompts, error) {
	var p Prompts
	if !f.plain {
		return nil, nil
	}
	for _, one := range PromptFields(&p) {
		b, err := os.ReadFile(f.path(one.Name))
		switch {
		case err == nil:
			text := strings.ToValidUTF8(string(b), "\uFFFD")
			*one.Text = &text
		case !errors.Is(err, fs.ErrNotExist):
			return nil, f.fault(err)
		}
	}
	if p == (Prompts{}) {
		return nil, nil
	}
	return &p, nil
}

// Write replaces the prompts of the space. It writes each file atomically, and only if the
// text differs.
func (f PromptFiles) Write(p Prompts) error {
	was, err := f.Read()
	if err != nil {
		return err
	}
	var before Prompts
	if was != nil {
		before = *was
	}
	old := PromptFields(&before)
	for i, one := range PromptFields(&p) {
		have, want := *old[i].Text, *one.Text
		switch {
		case have == nil && want == nil, have != nil && want != nil && *have == *want:
		case !f.plain:
			return fault.New(fault.Unsupported, "percached: prompts", "a space of this name cannot have its own prompts")
		case want == nil:
			if err = os.Remove(f.path(one.Name)); err == nil {
				err = durable.Folder(f.dir)
			}
		default:
			err = f.put(one.Name, *want)
		}
		if err != nil {
			return f.fault(err)
		}
	}
	return nil
}

// put writes a prompt and creates its folder.
func (f PromptFiles) put(name, text string) error {
	if err := os.MkdirAll(f.dir, 0o700); err != nil {
		return err
	}
	if err := durable.Write(f.path(name), []byte(text)); err != nil {
		return err
	}
	all := filepath.Dir(f.dir) // the folders may be new, too
	return errors.Join(durable.Folder(all), durable.Folder(filepath.Dir(all)))
}

// Remove removes all prompts of the space.
func (f PromptFiles) Remove() error {
	if !f.plain {
		return nil
	}
	err := os.RemoveAll(f.dir)
	if err == nil {
		err = durable.Folder(filepath.Dir(f.dir))
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) { // no space ever had prompts
		return f.fault(err)
	}
	return nil
}

func (f PromptFiles) path(name string) string { return filepath.Join(f.dir, name+".txt") }

func (f PromptFiles) fault(err error) error {
	return fault.New(fault.Unavailable, "percached: prompts", "%w", err)
}

// instructions are the user's instructions for a space, if there are any.
func (n *Node) instructions(space string) (string, bool, error) {
	return n.Prompt(space, "instructions")
}

// Prompt returns the user's prompt for a space: its own, or the one of all spaces.
func (n *Node) Prompt(space, name string) (string, bool, error) {
	paths := []string{n.Home.Path("prompts", name+".txt")}
	if own := n.PromptFiles(space); own.plain {
		paths = append([]string{own.path(name)}, paths...)
	}
	for _, path := range paths {
		b, err := os.ReadFile(path)
		switch {
		case err == nil:
			return string(b), true, nil
		case !errors.Is(err, fs.ErrNotExist):
			return "", false, fault.New(fault.Unavailable, "percached: prompts", "%w", err)
		}
	}
	return "", false, nil
}
