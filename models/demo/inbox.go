package demo

import (
	"embed"
	"io/fs"
)

//go:embed inbox.mbox meetings
var inbox embed.FS

// Inbox gives the mails, inbox.mbox, and the meetings, in a folder.
func Inbox() fs.FS { return inbox }
