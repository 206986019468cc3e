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

// PromptFiles are the files of one space's own prompts. Those of all spaces lie in the
// folder above.
type PromptFiles struct {
	dir   string
	plain bool // the space's name can be that of a folder
}

// promptName is what the name of a space is like that is a folder's.
var promptName = regexp.MustCompile(`^[a-z0-9][a-z0-9._-]*$`)

// PromptFiles are the prompts of one space.
func (s *Node) PromptFiles(space string) PromptFiles {
	return PromptFiles{s.Home.Path("prompts", filepath.Base(space)), promptName.MatchString(space) && !IsPromptFile(space)}
}

// IsPromptFile: a space of this name would have its folder where a prompt of all
// spaces lies.
func IsPromptFile(space string) bool {
	name, ok := strings.CutSuffix(space, ".txt")
	return ok && slices.ContainsFunc(PromptsByName(&Prompts{}), func(p onePrompt) bool { return p.Name == name })
}

// Prompts replace built-in prompts; nil keeps the built-in one.
type Prompts struct{ Instructions, Abstract, Knowledge, History *string }

// onePrompt is a prompt by its name.
type onePrompt struct {
	Name string
	Text **string
}

// PromptsByName gives the fields of p by name.
func PromptsByName(p *Prompts) []onePrompt {
	return []onePrompt{{"instructions", &p.Instructions}, {"abstract", &p.Abstract}, {"knowledge", &p.Knowledge}, {"history", &p.History}}
}

// Read gives the space's own prompts; nil if it has none.
func (f PromptFiles) Read() (*Prompts, error) {
	var p Prompts
	if !f.plain {
		return nil, nil
	}
	for _, one := range PromptsByName(&p) {
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

// Write makes these the space's own prompts, each whole or not at all. It leaves
// alone what is as it should be.
func (f PromptFiles) Write(p Prompts) error {
	was, err := f.Read()
	if err != nil {
		return err
	}
	var before Prompts
	if was != nil {
		before = *was
	}
	old := PromptsByName(&before)
	for i, one := range PromptsByName(&p) {
		have, want := *old[i].Text, *one.Text
		switch {
		case have == nil && want == nil, have != nil && want != nil && *have == *want:
		case !f.plain:
			return fault.New(fault.Unsupported, "percached: prompts", "a space of this name can have no prompts of its own")
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

// put writes a prompt, in a folder that it makes.
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

// instructions are what prompts of a space begin with, if the owner of the data
// folder wants others than the built-in ones: for one space, or for all.
func (s *Node) instructions(space string) (string, bool, error) {
	return s.PromptOf(space, "instructions")
}

// PromptOf is what the owner of the data folder wants in place of a built-in prompt.
func (s *Node) PromptOf(space, name string) (string, bool, error) {
	paths := []string{s.Home.Path("prompts", name+".txt")}
	if own := s.PromptFiles(space); own.plain {
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
