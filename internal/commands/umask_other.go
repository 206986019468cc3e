//go:build !unix

package commands

// makeFilesPrivate does nothing where there is no umask.
func makeFilesPrivate() {}
