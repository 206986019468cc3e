//go:build !(linux || darwin || freebsd)

package durable

import "os"

// NoFollow is nothing: this system does not tell links apart when it opens a file.
const NoFollow = 0

// ChownToFolderOwner does nothing: files have no owner here.
func ChownToFolderOwner(*os.File) error { return nil }
