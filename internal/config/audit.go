package config

import (
	"path/filepath"
	"strings"
)

// AuditLog is the path of the audit log, and empty if there is none.
func (c *Config) AuditLog() string {
	if c.Serving.Audit == "" || filepath.IsAbs(c.Serving.Audit) {
		return c.Serving.Audit
	}
	return filepath.Join(c.Data, c.Serving.Audit)
}

// AuditInside says whether the audit log is in the data folder, also behind links.
func (c *Config) AuditInside() bool {
	inside := func(folder, path string) bool {
		rel, err := filepath.Rel(folder, path)
		return err == nil && rel != ".." && !strings.HasPrefix(rel, ".."+string(filepath.Separator))
	}
	real := func(folder string) string {
		if absolute, err := filepath.Abs(folder); err == nil {
			folder = absolute
		}
		if plain, err := filepath.EvalSymlinks(folder); err == nil {
			folder = plain
		}
		return folder
	}
	path := c.AuditLog()
	return path != "" && inside(real(c.Data), filepath.Join(real(filepath.Dir(path)), filepath.Base(path)))
}
